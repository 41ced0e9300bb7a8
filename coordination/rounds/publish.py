"""Publish a merged round and open the next one, in one transaction."""

from statistics import fmean

from django.db import transaction

from coordination.aggregation.merge import MergeReport
from coordination.clock import now
from coordination.models import Result, Round, Run, Snapshot, Unit, touch
from coordination.rounds.open import open_round


@transaction.atomic
def publish_round(
    merged: Round,
    snapshot: Snapshot,
    report: MergeReport,
    standing: list[Result],
    screened: list[Result],
) -> bool:
    """Make ``snapshot`` the next round's start; False if another attempt was faster."""
    locked = Round.objects.select_for_update(of=("self",))
    round_ = locked.select_related("run").get(pk=merged.pk)
    if round_.state != Round.State.MERGING or round_.attempt != merged.attempt:
        return False
    snapshot.save()
    _mark(standing, Result.State.MERGED)
    _mark(screened, Result.State.SCREENED)
    losses = [result.loss for result in standing if result.loss is not None]
    round_.state, round_.published_at = Round.State.PUBLISHED, now()
    round_.accepted, round_.screened = len(standing), len(screened)
    round_.loss = fmean(losses) if losses else None
    round_.update_norm = report.update_norm
    round_.save()
    _go_on(round_.run, round_)
    touch(round_.run_id)
    return True


def _mark(results: list[Result], state: Result.State) -> None:
    Result.objects.filter(pk__in=[result.pk for result in results]).update(state=state)


def _go_on(run: Run, published: Round) -> None:
    Unit.objects.filter(round=published, state=Unit.State.LEASED).update(state=Unit.State.FREE)
    if published.number < run.rounds:
        open_round(run, published.number + 1, now())
    else:
        run.state, run.finished_at = Run.State.FINISHED, now()
        run.save(update_fields=["state", "finished_at"])
