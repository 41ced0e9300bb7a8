"""Who is asking: the owner of a key, or somebody signed in with the browser."""

from django.utils.translation import gettext as _
from rest_framework.authentication import BaseAuthentication, SessionAuthentication
from rest_framework.exceptions import AuthenticationFailed, PermissionDenied
from rest_framework.request import Request

from accounts.keys.authenticate import find_ended_key, find_key
from accounts.models import ApiKey, User
from apiv1.throttles import count_failure


class KeyAuthentication(BaseAuthentication):
    """``Authorization: Bearer mdl_…``; ``request.auth`` becomes the key.

    Whoever shows all of a key that was revoked or has expired is told so; all else that is wrong
    is answered alike, so that nobody learns which keys there were.
    """

    def authenticate(self, request: Request) -> tuple[User, ApiKey] | None:
        header = request.headers.get("Authorization", "")
        kind, _space, secret = header.partition(" ")
        if not header:
            return None
        secret = secret.strip() if kind.lower() == "bearer" else ""
        key = find_key(secret)
        if key is None:
            count_failure(request)
            raise _refusal(find_ended_key(secret))
        return key.owner, key

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


def _refusal(ended: ApiKey | None) -> AuthenticationFailed:
    if ended is None:
        text = _("Send a key that is valid as Authorization: Bearer mdl_…")
        return AuthenticationFailed(text, "invalid_key")
    if ended.revoked_at:
        return AuthenticationFailed(_("This key was revoked. Make a new one."), "key_revoked")
    return AuthenticationFailed(_("This key has expired. Make a new one."), "key_expired")


class BrowserSession(SessionAuthentication):
    """The site's own session cookie; whatever changes something needs the CSRF header."""

    def enforce_csrf(self, request: Request) -> None:
        """Raises PermissionDenied, in the reader's language, which DRF's own is not."""
        try:
            super().enforce_csrf(request)
        except PermissionDenied:
            text = _(
                "Send the token of the csrftoken cookie as X-CSRFToken, from the site's pages."
            )
            raise PermissionDenied(text) from None
