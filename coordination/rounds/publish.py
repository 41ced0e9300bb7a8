"""Publish a merged round and open the next one, in one transaction."""

from dataclasses import dataclass
from statistics import fmean

from django.db import transaction

from coordination.aggregation.merge import MergeReport
from coordination.clock import now
from coordination.models import OuterState, Result, Round, Run, Snapshot, Unit, touch
from coordination.rounds.evaluate import ask_for_evaluation
from coordination.rounds.open import open_round
from coordination.store.local import Blob
from coordination.tallies.measure import keep_measures
from coordination.verification.settle import leave_out_unverified


@dataclass(frozen=True)
class Merged:
    """What a merge made, written but not yet published: the next snapshot, unsaved, the blobs
    of the optimiser's state by name, and what the merge reported."""

    snapshot: Snapshot
    state: dict[str, Blob]
    report: MergeReport


@transaction.atomic
def publish_round(
    merging: Round, merged: Merged, standing: list[Result], screened: list[Result]
) -> bool:
    """Make the merged snapshot the next round's start; False if another attempt was faster.

    ``screened`` carry their reasons as ``code``.
    """
    locked = Round.objects.select_for_update(of=("self",))
    round_ = locked.select_related("run").get(pk=merging.pk)
    if round_.state != Round.State.MERGING or round_.attempt != merging.attempt:
        return False
    _save(merged)
    _mark(standing, Result.State.MERGED)
    _mark(screened, Result.State.SCREENED)
    leave_out_unverified(round_)
    losses = [result.loss for result in standing if result.loss is not None]
    round_.state, round_.published_at = Round.State.PUBLISHED, now()
    round_.accepted, round_.screened = len(standing), len(screened)
    round_.loss = fmean(losses) if losses else None
    _record(round_, merged.report)
    round_.save()
    keep_measures(round_)
    ask_for_evaluation(merged.snapshot, round_)
    _go_on(round_.run, round_)
    touch(round_.run_id)
    return True


def _save(merged: Merged) -> None:
    merged.snapshot.save()
    OuterState.objects.bulk_create(
        OuterState(snapshot=merged.snapshot, name=name, sha256=blob.sha256)
        for name, blob in merged.state.items()
    )


def _record(round_: Round, report: MergeReport) -> None:
    round_.update_norm = report.update_norm
    round_.rule, round_.fallback = report.rule, report.fallback
    round_.lora_bias = report.lora_bias


def _mark(results: list[Result], state: Result.State) -> None:
    for result in results:
        result.state, result.sketch = state, None
    Result.objects.bulk_update(results, ["state", "code", "weight", "sketch"])


def _go_on(run: Run, published: Round) -> None:
    leased = Unit.objects.filter(round=published, snapshot=None, state=Unit.State.LEASED)
    leased.update(state=Unit.State.FREE)
    if published.number < run.rounds:
        open_round(run, published.number + 1, now())
    else:
        run.state, run.finished_at = Run.State.FINISHED, now()
        run.save(update_fields=["state", "finished_at"])
