"""The administration is for staff who showed a second factor in this session, not long ago.

It has no sign-in of its own: ``secure_admin_login`` sends everybody through the site's, where
whoever has a second factor is asked for it. Left for this are those who have none, sessions from
before they had one, and sessions of long ago.
"""

import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from allauth.account.adapter import get_adapter
from allauth.account.authentication import get_authentication_records
from allauth.mfa.utils import is_mfa_enabled
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

# Recovery codes alone are no second factor: they stand in for one.
FACTORS = ("totp", "webauthn")
SHOWN_FOR_S = 12 * 3600


class StaffNeedSecondFactor:
    """Sends staff from the administration to where they set a second factor up, or show it."""

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
        if not is_mfa_enabled(request.user, types=FACTORS):
            messages.info(
                request, _("The administration asks for a second factor. Set one up, then go on.")
            )
            return redirect("mfa_index")
        return None if _was_shown(request) else _ask_for_it(request)


def _was_shown(request: HttpRequest) -> bool:
    """Whether this session saw the second factor within SHOWN_FOR_S."""
    since = time.time() - SHOWN_FOR_S
    records = get_authentication_records(request, request.user)
    return any(record["method"] == "mfa" and record["at"] > since for record in records)


def _ask_for_it(request: HttpRequest) -> HttpResponse:
    methods = get_adapter().get_reauthentication_methods(request.user)
    by_factor = [method for method in methods if method["id"].startswith("mfa_")]
    return redirect(f"{by_factor[0]['url']}?{urlencode({'next': request.get_full_path()})}")
