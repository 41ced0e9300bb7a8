"""End the leases of one worker, so that others can do its work."""

from django.db import transaction

from coordination.leases.free import free_unit
from coordination.models import Lease, Round, Unit, Worker, touch


@transaction.atomic
def end_leases(worker: Worker, job: Unit.Job | None = None) -> int:
    """End every live lease of the worker, or those of one job, and free their units; how many.

    Call it while holding the worker's row, or a new one may follow at once.
    """
    live = Lease.objects.filter(worker=worker, state=Lease.State.LIVE)
    if job is not None:
        live = live.filter(unit__job=job)
    for round_id in sorted(set(live.values_list("unit__round_id", flat=True))):
        Round.objects.select_for_update().get(pk=round_id)
    ended = dict(live.values_list("pk", "unit_id"))
    Lease.objects.filter(pk__in=ended, state=Lease.State.LIVE).update(state=Lease.State.EXPIRED)
    for unit_id in sorted(ended.values()):
        free_unit(unit_id)
    if ended:
        touch(worker.run_id)
    return len(ended)
