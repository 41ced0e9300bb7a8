"""Verb: the operator hands a draft in."""

from django.utils import timezone

from accounts.models import User
from portal.listings.errors import NotAllowed, WrongState
from portal.models import Coordinator, State


def submit(coordinator: Coordinator, by: User) -> None:
    """Move a draft to submitted.

    Raises:
        NotAllowed: ``by`` is not its operator.
        WrongState: it is no draft (any more).
    """
    if coordinator.operator_id != by.pk:
        raise NotAllowed("only its operator may submit a listing")
    changed = Coordinator.objects.filter(pk=coordinator.pk, state=State.DRAFT).update(
        state=State.SUBMITTED, submitted_at=timezone.now()
    )
    coordinator.refresh_from_db()
    if not changed:
        raise WrongState(f"only a draft can be submitted; this listing is {coordinator.state}")
