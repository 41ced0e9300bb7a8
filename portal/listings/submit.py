"""Verb: the operator hands an application in, for the first time or after changes."""

from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from portal.listings.errors import Incomplete
from portal.listings.transition import demand_operator, move
from portal.models import Coordinator, State

NEEDED = (
    "address",
    "description",
    "base_model",
    "languages",
    "data_source",
    "data_licence",
    "contact",
)


def submit(coordinator: Coordinator, by: User) -> None:
    """Move a draft, or an application sent back for changes, to submitted.

    Raises:
        NotAllowed: ``by`` is not its operator.
        Incomplete: names every field an admin would ask for.
        WrongState, Outdated, Taken: see ``transition.move``.
    """
    demand_operator(coordinator, by)
    missing = [name for name in NEEDED if not getattr(coordinator, name).strip()]
    if missing:
        raise Incomplete({name: _("Fill this in before you submit.") for name in missing})
    move(
        coordinator,
        "submit",
        by,
        sources=(State.DRAFT, State.CHANGES_REQUESTED),
        to=State.SUBMITTED,
        submitted_at=timezone.now(),
    )
