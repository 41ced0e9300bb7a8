"""Small questions about a run, each one query."""

from datetime import timedelta

from django.db.models import Count, Q, QuerySet

from coordination.clock import now
from coordination.models import Lease, Result, Round, Run, Unit, Worker
from worker_client.contract.wire import ResultCounts, TaskCounts

STANDING = (Result.State.WAITING, Result.State.MERGED)  # accepted, and not screened out
SEEN_LATELY = timedelta(minutes=5)  # longer than any back-off of a healthy worker


def is_active() -> Q:
    """Which workers count as taking part: they hold a live lease, or were heard from lately."""
    return Q(last_seen_at__gte=now() - SEEN_LATELY) | Q(lease__state=Lease.State.LIVE)


def active_workers(run: Run) -> int:
    return Worker.objects.filter(is_active(), run=run).distinct().count()


def unit_counts(round_: Round | None) -> TaskCounts:
    shards = Unit.objects.filter(round=round_, job=Unit.Job.TRAIN)
    counts = _by_state(shards) if round_ else {}
    free, leased, done = (counts.get(state, 0) for state in Unit.State)
    return TaskCounts(free=free, leased=leased, done=done)


def result_counts(run: Run) -> ResultCounts:
    """Verdicts over the whole run's trained shards. The three are disjoint: a result that was
    accepted and later screened out or left out counts as screened only."""
    trained = Result.objects.filter(unit__round__run=run, unit__job=Unit.Job.TRAIN)
    counts = _by_state(trained)
    left_out = (Result.State.SCREENED, Result.State.UNVERIFIED)
    return ResultCounts(
        accepted=sum(counts.get(state, 0) for state in STANDING),
        refused=counts.get(Result.State.REFUSED, 0),
        screened=sum(counts.get(state, 0) for state in left_out),
    )


def _by_state(rows: QuerySet) -> dict[str, int]:
    return dict(rows.order_by().values_list("state").annotate(Count("pk")))
