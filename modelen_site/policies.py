"""Headers that tell browsers what no page of the site ever does."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

# Security keys are the one thing of a computer's that pages ask for.
_NEVER = ("camera", "display-capture", "geolocation", "microphone", "payment", "serial", "usb")
_OWN_PAGES = ("publickey-credentials-create", "publickey-credentials-get")
PERMISSIONS = ", ".join(
    [*(f"{name}=()" for name in _NEVER), *(f"{name}=(self)" for name in _OWN_PAGES)]
)


class PermissionsPolicy:
    """Adds Permissions-Policy, which Django does not know."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        response["Permissions-Policy"] = PERMISSIONS
        return response
