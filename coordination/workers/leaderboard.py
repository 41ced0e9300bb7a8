"""Who has done how much in a run, for everybody to see: registered workers that want to be seen."""

from django.db.models import Count, FloatField, Q, QuerySet, Sum, Value
from django.db.models.functions import Cast, Coalesce

from coordination.live.counts import STANDING
from coordination.models import Result, Run, Unit, Worker
from coordination.results.tokens import credited_tokens
from coordination.workers.find import registered

SORTS = ("name", "tasks", "tokens", "share")
DEFAULT_SORT = "-tasks"
_SHOWN_STATES = (Worker.State.APPROVED, Worker.State.PAUSED)


def leaderboard(run: Run, sort: str = DEFAULT_SORT) -> QuerySet[Worker]:
    """The run's workers with an accepted result, each with ``tasks`` (accepted results),
    ``tokens`` (trained in them) and ``share`` (accepted of all results, 0 to 1).

    ``sort`` is one of ``SORTS``, with a minus for the largest first; anything else is the default.
    """
    if sort.removeprefix("-") not in SORTS:
        sort = DEFAULT_SORT
    # Repeating another's task to check it is as much work as the task was.
    accepted = Q(lease__result__state__in=(*STANDING, Result.State.USED))
    untrained = Q(lease__unit__job__in=(Unit.Job.EVALUATE, Unit.Job.PREPROCESS))
    said = credited_tokens(run, "lease__result__tokens")
    listed = registered(run).filter(is_listed=True, state__in=_SHOWN_STATES)
    rows = listed.annotate(
        results=Count("lease__result"),
        tasks=Count("lease__result", filter=accepted),
        tokens=Coalesce(Sum(said, filter=accepted & ~untrained), Value(0)),
    ).filter(tasks__gt=0)
    share = Cast("tasks", FloatField()) / Cast("results", FloatField())
    return rows.annotate(share=share).order_by(sort, "name")
