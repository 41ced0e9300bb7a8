"""Merge a closed round into the next snapshot, or reopen it when too few results stand.

Everything before ``publish`` only writes blobs, and the same inputs give the same bytes: a
merge killed at any instant is simply done again.
"""

from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.db.models import Q

from coordination.aggregation.merge import Contribution, MergePlan, MergeReport, merge
from coordination.aggregation.outer import Nesterov
from coordination.aggregation.screen import screen_norms
from coordination.clock import now
from coordination.models import Result, Round, Run, Snapshot
from coordination.rounds.publish import publish_round
from coordination.rounds.reopen import reopen_round
from coordination.storage import blobs, momentum_vector, result_vector, snapshot_vector
from worker_client.contract.tensors import build_header


@dataclass(frozen=True)
class Merged:
    """The next snapshot's files, written but not yet published."""

    snapshot: Snapshot
    report: MergeReport


def merge_closed_round(round_id: int) -> bool:
    """Bring a merging round to its end; True if this call did."""
    if not _claim(round_id):
        return False
    round_ = Round.objects.select_related("run").get(pk=round_id)
    if round_.state != Round.State.MERGING:
        return False
    results = list(Result.objects.filter(pk__in=round_.participants).order_by("unit__shard"))
    out = set(screen_norms([result.update_norm or 0.0 for result in results]))
    standing = [result for index, result in enumerate(results) if index not in out]
    screened = [result for index, result in enumerate(results) if index in out]
    if len(standing) < round_.run.min_results:
        return reopen_round(round_, screened)
    merged = _merge(round_.run, round_, standing)
    return publish_round(round_, merged.snapshot, merged.report, standing, screened)


def _claim(round_id: int) -> bool:
    """Keep a second process from the same work for a while; correctness does not rest on it."""
    stale = now() - timedelta(seconds=settings.MERGE_CLAIM_SECONDS)
    unclaimed = Q(merge_claimed_at=None) | Q(merge_claimed_at__lte=stale)
    merging = Round.objects.filter(unclaimed, pk=round_id, state=Round.State.MERGING)
    return bool(merging.update(merge_claimed_at=now()))


def _merge(run: Run, round_: Round, standing: list[Result]) -> Merged:
    start = Snapshot.objects.get(run=run, number=round_.number)
    number = round_.number + 1
    header = snapshot_header(run, number)
    with blobs().new_file() as weights, blobs().new_file() as momentum:
        weights.write(header)
        old_momentum = momentum_vector(start)
        report = merge(
            snapshot_vector(start),
            [old_momentum] if old_momentum else [],
            [Contribution(result_vector(result)) for result in standing],
            MergePlan(outer=Nesterov(run.outer_lr, run.outer_momentum)),
            weights.write,
            [momentum.write],
        )
        weights_blob, momentum_blob = weights.seal(), momentum.seal()
    snapshot = Snapshot(
        run=run,
        number=number,
        sha256=weights_blob.sha256,
        size=weights_blob.size,
        data_start=len(header),
        momentum_sha256=momentum_blob.sha256,
    )
    return Merged(snapshot, report)


def snapshot_header(run: Run, number: int) -> bytes:
    """Header of a snapshot file; no times in it, so that equal weights give equal files."""
    tensors = ((spec.name, "F32", spec.shape) for spec in run.manifest.tensors)
    return build_header(tensors, {"format": "pt", "bicim": run.format, "tur": str(number)})
