"""Verb: an admin lets a listing into the directory."""

from django.utils import timezone

from accounts.models import User
from portal.listings.errors import NotAllowed, WrongState
from portal.models import Coordinator, State


def approve(coordinator: Coordinator, by: User) -> None:
    """Move a submitted listing to approved.

    Raises:
        NotAllowed: ``by`` may not change listings.
        WrongState: it is not submitted.
    """
    if not (by.is_staff and by.has_perm("portal.change_coordinator")):
        raise NotAllowed("only staff who may change coordinators can approve a listing")
    changed = Coordinator.objects.filter(pk=coordinator.pk, state=State.SUBMITTED).update(
        state=State.APPROVED, approved_at=timezone.now(), approved_by=by
    )
    coordinator.refresh_from_db()
    if not changed:
        raise WrongState(
            f"only a submitted listing can be approved; this one is {coordinator.state}"
        )
