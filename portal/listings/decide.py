"""Verbs of admins: approve, request changes, reject, suspend, reinstate."""

from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from portal.listings.errors import Incomplete
from portal.listings.transition import demand_admin, move
from portal.models import Coordinator, State


def approve(
    coordinator: Coordinator, by: User, message: str = "", revision: int | None = None
) -> None:
    """Let a submitted application in; it is listed as soon as its address is verified.

    The one decision that needs no reason; a message is a word to the operator. All verbs here
    raise NotAllowed, WrongState and Outdated as ``transition.move`` says.
    """
    demand_admin(by)
    move(
        coordinator,
        "approve",
        by,
        sources=(State.SUBMITTED,),
        to=State.APPROVED,
        revision=revision,
        mails=True,
        message=message.strip(),
        approved_at=timezone.now(),
        approved_by=by,
    )


def request_changes(
    coordinator: Coordinator, by: User, message: str, revision: int | None = None
) -> None:
    """Send a submitted application back with what is to be changed."""
    _decide(
        coordinator,
        "request_changes",
        by,
        State.SUBMITTED,
        State.CHANGES_REQUESTED,
        message,
        revision,
    )


def reject(coordinator: Coordinator, by: User, message: str, revision: int | None = None) -> None:
    """Turn a submitted application down for good."""
    _decide(coordinator, "reject", by, State.SUBMITTED, State.REJECTED, message, revision)


def suspend(coordinator: Coordinator, by: User, message: str, revision: int | None = None) -> None:
    """Take an approved coordinator out of the directory."""
    _decide(coordinator, "suspend", by, State.APPROVED, State.SUSPENDED, message, revision)


def reinstate(
    coordinator: Coordinator, by: User, message: str, revision: int | None = None
) -> None:
    """Put a suspended coordinator back."""
    _decide(coordinator, "reinstate", by, State.SUSPENDED, State.APPROVED, message, revision)


def _decide(
    coordinator: Coordinator,
    verb: str,
    by: User,
    source: State,
    to: State,
    message: str,
    revision: int | None,
) -> None:
    demand_admin(by)
    if not message.strip():
        raise Incomplete({"message": _("Write a reason; the operator reads it.")})
    move(
        coordinator,
        verb,
        by,
        sources=(source,),
        to=to,
        revision=revision,
        mails=True,
        message=message.strip(),
    )
