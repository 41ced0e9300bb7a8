"""Which work a worker gets: checks first, then a free shard, near the deadline a straggler's.

Evaluation of snapshots is for whoever has nothing of these to do.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median

from django.db.models import Case, Exists, OuterRef, Q, QuerySet, Subquery, Value, When

from coordination.clock import now
from coordination.models import Lease, Round, Run, Unit, Worker
from coordination.verification.verifiers import HEARD_LATELY, pick_check
from worker_client.contract.wire import Job, LeaseRequest

BACKUP_SHARE = 0.25  # of a round's length, where the run does not say
# Among so many workers that were heard from last, half are at least as fast as the median.
COMPARED = 200


@dataclass(frozen=True)
class Pick:
    unit: Unit
    is_backup: bool = False


def pick_work(
    run: Run, current: Round, worker: Worker, request: LeaseRequest, address: str
) -> Pick | None:
    """Work for ``worker`` in the open round, or None when there is none for it.

    Checks come first: each holds a finished result out of the merge until it is made.
    """
    if check := pick_check(current, worker, address, request):
        return Pick(check)
    if Job.TRAIN not in request.jobs:
        return None
    if shard := _free_shard(run, current, worker):
        return Pick(shard)
    straggling = _straggler(current, worker) if now() >= backups_from(run, current) else None
    return Pick(straggling, is_backup=True) if straggling else None


def free_evaluations(run: Run) -> QuerySet[Unit]:
    """Free work on snapshots that are still there, the newest first."""
    free = Unit.objects.filter(round__run=run, job=Unit.Job.EVALUATE, state=Unit.State.FREE)
    kept = free.filter(snapshot__isnull=False, snapshot__deleted_at=None)
    return kept.order_by("-snapshot__number", "held_out__language")


def pick_evaluation(run: Run, worker: Worker) -> Unit | None:
    """A snapshot for ``worker`` to evaluate; locks the round that the work belongs to."""
    unit = free_evaluations(run).exclude(barred=worker).first()
    if unit is None:
        return None
    Round.objects.select_for_update().get(pk=unit.round_id)
    return Unit.objects.filter(pk=unit.pk, state=Unit.State.FREE).first()


def pick_chunk(run: Run, worker: Worker) -> Unit | None:
    """A free chunk of text for a worker that may see it. Call it with the round locked."""
    free = Unit.objects.filter(chunk__run=run, state=Unit.State.FREE).exclude(barred=worker)
    return free.order_by("shard").first()


def _shards(current: Round, state: Unit.State, worker: Worker) -> QuerySet[Unit]:
    units = Unit.objects.filter(round=current, job=Unit.Job.TRAIN, state=state)
    return units.exclude(barred=worker)


def _free_shard(run: Run, current: Round, worker: Worker) -> Unit | None:
    """A free shard. One on which another worker failed goes to a proven fast one where there is
    any, and one that the worker had last goes to it, since it need not be fetched again."""
    last = Lease.objects.filter(worker=worker).values_list("unit__shard", flat=True).first()
    fetched_before = Case(When(shard=-1 if last is None else last, then=Value(0)), default=Value(1))
    retry = Exists(Lease.objects.filter(~Q(worker=worker), unit=OuterRef("pk")))
    free = _shards(current, Unit.State.FREE, worker).annotate(retry=retry)
    return free.order_by(*_retries_first(run, worker), fetched_before, "shard").first()


def _retries_first(run: Run, worker: Worker) -> list[str]:
    if is_reliable(run, worker):
        return ["-retry"]
    proven = Worker.objects.filter(run=run, consecutive_valid__gte=run.proven_after)
    around = proven.filter(last_seen_at__gte=now() - HEARD_LATELY)
    return ["retry"] if around.exists() else []


def is_reliable(run: Run, worker: Worker) -> bool:
    """Whether the worker is proven and no slower than the run's usual one."""
    if worker.task_seconds is None or not run.check_policy.is_proven(worker.standing):
        return False
    known = Worker.objects.filter(run=run).exclude(task_seconds=None).order_by("-last_seen_at")
    times = known.values_list("task_seconds", flat=True)[:COMPARED]
    return worker.task_seconds <= median(seconds for seconds in times if seconds is not None)


def backups_from(run: Run, current: Round) -> datetime:
    """From when on a shard in work may be leased a second time."""
    if run.backup_seconds == 0:
        return datetime.max.replace(tzinfo=current.deadline_at.tzinfo)
    seconds = run.backup_seconds or BACKUP_SHARE * run.round_seconds
    return current.deadline_at - timedelta(seconds=seconds)


def _straggler(current: Round, worker: Worker) -> Unit | None:
    """The shard that has been in somebody else's hands longest and has no second lease yet."""
    live = Lease.objects.filter(unit=OuterRef("pk"), state=Lease.State.LIVE)
    taken = Exists(live.filter(Q(is_backup=True) | Q(worker=worker)))
    since = Subquery(live.order_by("granted_at").values("granted_at")[:1])
    return (
        _shards(current, Unit.State.LEASED, worker).exclude(taken).order_by(since, "shard").first()
    )
