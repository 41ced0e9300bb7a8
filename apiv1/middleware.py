"""Whatever answers under /api/v1/, an error is a problem: unknown paths and other layers too."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.utils.translation import get_language_from_request, override
from django.utils.translation import gettext_lazy as _

from apiv1.problems import MEDIA_TYPE, problem_response

PREFIX = "/api/v1/"
REASONS = {
    400: ("bad_request", _("The request cannot be understood.")),
    403: ("permission_denied", _("This request is not allowed.")),
    404: ("not_found", _("There is nothing at this address; see /api/v1/docs.")),
    405: ("method_not_allowed", _("This address does not know this method; see Allow.")),
    500: (
        "internal_server_error",
        _("Something went wrong on our side; it is logged. Try again later."),
    ),
}
# The other headers (Allow, the policies) hold for the problem as well.
_OF_THE_PAGE = ("Content-Type", "Content-Length", "ETag")
_OTHER = ("error", _("The request could not be answered."))


class Problems:
    """Replaces error pages that are not problems; stands outside of all that may make them."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        ours = request.path_info.startswith(PREFIX)
        if not ours or response.status_code < 400 or response["Content-Type"] == MEDIA_TYPE:
            return response
        code, detail = REASONS.get(response.status_code, _OTHER)
        # Whatever failed may have failed before a language was chosen.
        with override(get_language_from_request(request)):
            problem = problem_response(response.status_code, code, str(detail))
        for name, value in response.items():
            if name not in _OF_THE_PAGE:
                problem[name] = value
        problem["Content-Length"] = str(len(problem.content))
        return problem
