"""What an operator should do next about a coordinator, if anything."""

from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from portal.models import Coordinator, Presence, Proof, State


@dataclass(frozen=True)
class Step:
    """A sentence, and the name of the page where it is done (none when there is only waiting)."""

    text: str | Promise
    page: str = ""
    label: str | Promise = ""


VERIFY = (_("Verify the address"), "portal:panel-verification")
EDIT = (_("Edit the application"), "portal:panel-edit")
BEATS = (_("See the heartbeats"), "portal:panel-heartbeats")

BY_STATE = {
    State.DRAFT: (_("Fill in the application and submit it."), EDIT),
    State.CHANGES_REQUESTED: (_("An admin asks for a change. Make it and submit again."), EDIT),
    State.SUSPENDED: (_("An admin has suspended it. Solve what they say, and answer them."), None),
    State.REJECTED: (_("It was turned down. You may apply again with another coordinator."), None),
    State.WITHDRAWN: (_("You have withdrawn it. Nothing is left to do."), None),
}


def next_step(coordinator: Coordinator) -> Step:
    """The one thing that matters most now."""
    state = State(coordinator.state)
    if state in BY_STATE:
        return _step(*BY_STATE[state])
    if coordinator.proof == Proof.UNVERIFIED:
        return _step(_("Prove that the address is yours; it is not listed before."), VERIFY)
    if coordinator.proof == Proof.STALE:
        return _step(_("The address can no longer be verified; it will be delisted."), VERIFY)
    if coordinator.failing_since:
        return _step(_("The last look at the address failed. See what was found."), VERIFY)
    if state == State.SUBMITTED:
        return Step(_("An admin will read the application; you will get a mail."))
    if coordinator.presence == Presence.NEVER:
        return _step(_("Create an API key and let the coordinator send its heartbeats."), BEATS)
    if coordinator.presence == Presence.OFFLINE:
        return _step(_("It is offline. See whether its heartbeat sender runs."), BEATS)
    return Step(_("All is well."))


def _step(text: str | Promise, where: tuple[str | Promise, str] | None) -> Step:
    label, page = where or ("", "")
    return Step(text, page, label)
