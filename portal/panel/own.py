"""Whose pages these are, and how a refusal is put to them."""

from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _

from accounts.keys.errors import NotLive, TooManyKeys
from accounts.models import User
from portal.listings.errors import NotAllowed, Outdated, Taken, WrongState
from portal.models import Coordinator
from portal.verification.errors import TooOften

REFUSALS = (
    NotAllowed, NotLive, Outdated, Taken, TooManyKeys, TooOften, ValidationError, WrongState,
)  # fmt: skip


def operator_of(request: HttpRequest) -> User:
    """The person signed in; the pages demand one."""
    assert isinstance(request.user, User)
    return request.user


def own_coordinator(request: HttpRequest, slug: str) -> Coordinator:
    """Raises Http404 for what does not exist and for what is somebody else's."""
    return get_object_or_404(Coordinator, slug=slug, operator=operator_of(request))


def why_not(error: Exception) -> str:
    """One of REFUSALS in words that name the remedy."""
    if isinstance(error, ValidationError):
        return " ".join(error.messages)
    if isinstance(error, TooOften):
        wait = {"seconds": error.retry_after_s}
        return _("There were too many checks lately. Try again in %(seconds)s seconds.") % wait
    if isinstance(error, Outdated):
        return _("It was changed in between. Look at it as it is now, then try again.")
    if isinstance(error, Taken | TooManyKeys):
        return str(error)
    if isinstance(error, NotLive):
        return _("This key has expired, or was revoked or replaced before.")
    return _("This cannot be done in the state that the listing is in.")
