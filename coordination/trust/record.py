"""Write into a worker's row what its work says of it. The row is locked first, then the round's."""

from collections.abc import Iterable

from coordination.clock import now
from coordination.models import Lease, Unit, Worker
from coordination.trust.policy import Quota

QUOTA = Quota()
NEWEST_COUNTS = 0.2  # how much of the moving average is the last task


def lock_workers(ids: Iterable[int]) -> None:
    """Lock the rows, always in one order, for the rest of the transaction."""
    list(Worker.objects.select_for_update().filter(pk__in=set(ids)).order_by("pk"))


def record_check(worker_id: int, valid: bool) -> None:
    """A result of the worker was checked. A name that nobody owns earns nothing."""
    worker = Worker.objects.get(pk=worker_id)
    standing = worker.standing.after(valid)
    worker.consecutive_valid = standing.consecutive_valid if worker.is_registered else 0
    worker.checks_valid, worker.checks_invalid = standing.valid, standing.invalid
    if not valid:
        worker.quota = QUOTA.after_error(worker.quota)
    worker.save(update_fields=["consecutive_valid", "checks_valid", "checks_invalid", "quota"])


def record_error(worker_id: int) -> None:
    """A lease of the worker came to nothing, by its own doing or by silence."""
    worker = Worker.objects.get(pk=worker_id)
    worker.quota = QUOTA.after_error(worker.quota)
    worker.save(update_fields=["quota"])


def record_delivery(lease: Lease) -> None:
    """A result was taken in: the quota recovers, and how long training took is noted."""
    worker = Worker.objects.get(pk=lease.worker_id)
    worker.quota = QUOTA.after_success(worker.quota)
    if lease.unit.job in (Unit.Job.TRAIN, Unit.Job.VERIFY):
        seconds = (now() - lease.granted_at).total_seconds()
        before = seconds if worker.task_seconds is None else worker.task_seconds
        worker.task_seconds = (1 - NEWEST_COUNTS) * before + NEWEST_COUNTS * seconds
    worker.save(update_fields=["quota", "task_seconds"])
