"""Note a worker's progress and keep its lease alive."""

from datetime import datetime, timedelta

from django.db import transaction

from coordination.clock import now
from coordination.leases.grant import latest_end
from coordination.models import Lease, Round, Run, Unit, Worker, touch
from worker_client.contract.errors import Refusal, Refused
from worker_client.contract.wire import Progress


@transaction.atomic
def extend_lease(run: Run, lease: Lease, progress: Progress | None = None) -> datetime | None:
    """The lease's new end, or None when its work is no longer wanted.

    ``progress`` is None when an uploaded chunk stands for it.

    Raises:
        Refused: COMMITMENT_MISMATCH when another digest was told before; the lease lives.
    """
    Worker.objects.filter(pk=lease.worker_id).update(last_seen_at=now())
    locked = Lease.objects.select_for_update(of=("self",))
    lease = locked.select_related("unit__round").get(pk=lease.pk)
    if lease.state != Lease.State.LIVE or not _is_wanted(run, lease.unit):
        return None
    lease.expires_at = min(now() + timedelta(seconds=run.lease_seconds), latest_end(run, lease))
    if progress:
        lease.step, lease.loss = progress.step, progress.loss
        lease.commitment = _promised(lease, progress.digest)
    lease.save(update_fields=["expires_at", "step", "loss", "commitment"])
    if progress:
        touch(run.pk)
    return lease.expires_at


def _is_wanted(run: Run, unit: Unit) -> bool:
    if unit.job == Unit.Job.PREPROCESS:
        return run.state in (Run.State.READY, Run.State.PAUSED)
    goes_on = run.state in (Run.State.OPEN, Run.State.PAUSED)
    return unit.outlives_round or (goes_on and unit.round.state == Round.State.OPEN)


def _promised(lease: Lease, digest: str | None) -> str:
    """The digest that the result will have to have: a promise that could be changed after a look
    at somebody else's would be none."""
    if digest and lease.commitment not in ("", digest):
        raise Refused(
            Refusal.COMMITMENT_MISMATCH,
            "another digest was told for this task before; deliver that file, or let the task go",
        )
    return digest or lease.commitment
