"""End leases whose time is up and free their units."""

from django.db import transaction

from coordination.clock import now
from coordination.leases.free import bar_from_check, free_unit
from coordination.models import Lease, Round, RoundTally, touch
from coordination.tallies.add import add
from coordination.trust.record import lock_workers, record_error


def expire_leases() -> int:
    """Expire every overdue lease; returns how many. Safe to run twice and side by side."""
    overdue = Lease.objects.filter(state=Lease.State.LIVE, expires_at__lte=now())
    ids = list(overdue.values_list("pk", flat=True))
    return sum(_expire(pk) for pk in ids)


@transaction.atomic
def _expire(pk: int) -> bool:
    lease = Lease.objects.select_related("unit__round").get(pk=pk)
    lock_workers([lease.worker_id])
    Round.objects.select_for_update().get(pk=lease.unit.round_id)
    still_overdue = Lease.objects.filter(pk=pk, state=Lease.State.LIVE, expires_at__lte=now())
    if not still_overdue.update(state=Lease.State.EXPIRED):
        return False
    free_unit(lease.unit_id)
    bar_from_check(lease)
    record_error(lease.worker_id)
    add(RoundTally, ["round_id"], ["expired"], [(lease.unit.round_id, 1)])
    touch(lease.unit.round.run_id)
    return True
