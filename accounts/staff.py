"""The administration is for staff with a second factor.

It has no sign-in of its own: ``secure_admin_login`` sends everybody through the site's. Whoever
has a second factor is asked for it there, so that only those without one are left for this.
"""

from collections.abc import Callable
from typing import Any

from allauth.mfa.utils import is_mfa_enabled
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

# Recovery codes alone are no second factor: they stand in for one.
FACTORS = ("totp", "webauthn")


class StaffNeedSecondFactor:
    """Sends staff without a second factor from the administration to where they set one up."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(
        self, request: HttpRequest, view: Callable, args: list[Any], kwargs: dict[str, Any]
    ) -> HttpResponse | None:
        match = request.resolver_match
        if match is None or match.app_name != "admin" or not settings.STAFF_NEED_SECOND_FACTOR:
            return None
        if not (request.user.is_authenticated and request.user.is_staff):
            return None
        if is_mfa_enabled(request.user, types=FACTORS):
            return None
        messages.info(
            request, _("The administration asks for a second factor. Set one up, then go on.")
        )
        return redirect("mfa_index")
