"""Who is asking: the owner of a key, or somebody signed in with the browser."""

from django.utils.translation import gettext as _
from rest_framework.authentication import BaseAuthentication, SessionAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from accounts.keys.authenticate import find_key
from accounts.models import ApiKey, User
from apiv1.throttles import count_failure


class KeyAuthentication(BaseAuthentication):
    """``Authorization: Bearer mdl_…``; ``request.auth`` becomes the key.

    All that is wrong with a key is answered alike, so that nobody learns which keys there were.
    """

    def authenticate(self, request: Request) -> tuple[User, ApiKey] | None:
        header = request.headers.get("Authorization", "")
        kind, _space, secret = header.partition(" ")
        if not header:
            return None
        key = find_key(secret.strip()) if kind.lower() == "bearer" else None
        if key is None or not key.owner.is_active:
            count_failure(request)
            raise AuthenticationFailed(
                _("Send a key that is valid as Authorization: Bearer mdl_…"), "invalid_key"
            )
        return key.owner, key

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class BrowserSession(SessionAuthentication):
    """The site's own session cookie; whatever changes something needs the CSRF header."""
