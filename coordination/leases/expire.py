"""End leases whose time is up and free their units."""

from django.db import transaction

from coordination.clock import now
from coordination.models import Lease, Round, Unit, touch


def expire_leases() -> int:
    """Expire every overdue lease; returns how many. Safe to run twice and side by side."""
    overdue = Lease.objects.filter(state=Lease.State.LIVE, expires_at__lte=now())
    ids = list(overdue.values_list("pk", flat=True))
    return sum(_expire(pk) for pk in ids)


@transaction.atomic
def _expire(pk: int) -> bool:
    lease = Lease.objects.select_related("unit__round").get(pk=pk)
    Round.objects.select_for_update().get(pk=lease.unit.round_id)
    still_overdue = Lease.objects.filter(pk=pk, state=Lease.State.LIVE, expires_at__lte=now())
    if not still_overdue.update(state=Lease.State.EXPIRED):
        return False
    Unit.objects.filter(pk=lease.unit_id, state=Unit.State.LEASED).update(state=Unit.State.FREE)
    touch(lease.unit.round.run_id)
    return True
