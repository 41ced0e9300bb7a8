"""When an operator asks for their data or deletes their account."""

from typing import Any

from django.dispatch import receiver
from django.forms.models import model_to_dict

from accounts.models import User
from accounts.signals import account_deleting, account_exporting
from portal.listings.edit import EDITABLE
from portal.listings.withdraw import withdraw
from portal.models import ENDED, Coordinator


@receiver(account_deleting)
def withdraw_all(user: User, **signal: Any) -> None:
    """Withdraw what the operator runs, and forget how to reach them."""
    for coordinator in user.coordinators.exclude(state__in=ENDED).order_by("pk"):
        withdraw(coordinator, by=user)
    Coordinator.objects.filter(operator=user).update(contact="")


@receiver(account_exporting)
def coordinators(user: User, **signal: Any) -> dict[str, Any]:
    """The ``coordinators`` section of an export."""
    return {"coordinators": [_told(coordinator) for coordinator in user.coordinators.all()]}


def _told(coordinator: Coordinator) -> dict[str, Any]:
    return model_to_dict(coordinator, EDITABLE) | {
        "state": coordinator.state,
        "proof": coordinator.proof,
        "created_at": coordinator.created_at.isoformat(),
        "message": coordinator.message,
    }
