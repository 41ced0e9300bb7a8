"""An admin's decisions as things to offer: a title, from which state, and the verb behind."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.models import User
from portal.listings import decide as verbs
from portal.listings.errors import Incomplete, NotAllowed, Outdated, WrongState
from portal.models import Coordinator, State


@dataclass(frozen=True)
class Decision:
    name: str
    title: str | Promise
    source: State
    verb: Callable[..., None]
    needs_reason: bool = True


def _decision(name: str, title: str | Promise, source: State, **more: Any) -> Decision:
    return Decision(name, title, source, getattr(verbs, name), **more)


DECISIONS = {
    decision.name: decision
    for decision in (
        _decision("approve", gettext_lazy("Approve"), State.SUBMITTED, needs_reason=False),
        _decision("request_changes", gettext_lazy("Ask for changes"), State.SUBMITTED),
        _decision("reject", gettext_lazy("Reject"), State.SUBMITTED),
        _decision("suspend", gettext_lazy("Suspend"), State.APPROVED),
        _decision("reinstate", gettext_lazy("Reinstate"), State.SUSPENDED),
    )
}


def open_to(coordinator: Coordinator) -> list[Decision]:
    """The decisions that its state allows."""
    return [decision for decision in DECISIONS.values() if decision.source == coordinator.state]


def decide(
    decision: Decision, coordinator: Coordinator, by: User, message: str, revision: int
) -> str:
    """Do it; returns why it could not be done, in words for the admin, or nothing."""
    try:
        decision.verb(coordinator, by=by, message=message, revision=revision)
    except Incomplete:
        return _("Write a reason; the operator reads it.")
    except Outdated:
        return _("It has changed since you read it. Look at it again.")
    except WrongState:
        now = coordinator.get_state_display()
        return _("This cannot be done, since it is now: %(state)s.") % {"state": now}
    except NotAllowed:
        return _("You may not decide on listings.")
    return ""
