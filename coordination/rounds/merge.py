"""Merge a closed round into the next snapshot, or reopen it when too few results stand.

Everything before ``publish`` only writes blobs, and the same inputs give the same bytes: a
merge killed at any instant is simply done again.
"""

import logging
from contextlib import ExitStack
from datetime import timedelta

from django.conf import settings
from django.db.models import Q

from coordination.aggregation.merge import Contribution, merge
from coordination.aggregation.screen import screen
from coordination.aggregation.vectors import VectorFile
from coordination.clock import now
from coordination.models import Result, Round, Run, Snapshot
from coordination.rounds.compress import RESIDUAL, compress_snapshot
from coordination.rounds.evidence import evidence_of
from coordination.rounds.publish import Merged, publish_round
from coordination.rounds.reopen import reopen_round
from coordination.storage import blobs, outer_state, result_vector, snapshot_vector
from coordination.store.local import Blob, BlobWriter
from coordination.trust.weigh import is_beyond_doubt, trust_in
from worker_client.contract.snapshots import snapshot_header

logger = logging.getLogger(__name__)


def merge_closed_round(round_id: int) -> bool:
    """Bring a merging round to its end; True if this call did."""
    if not _claim(round_id):
        return False
    round_ = Round.objects.select_related("run").get(pk=round_id)
    if round_.state != Round.State.MERGING:
        return False
    standing, screened = _screen(round_)
    if len(standing) < round_.run.min_results:
        return reopen_round(round_, screened)
    merged = _merge(round_, standing, len(screened))
    snapshot = merged.snapshot
    written = [snapshot.sha256, *(blob.sha256 for blob in merged.state.values())]
    with blobs().kept(*written, *([snapshot.delta_sha256] if snapshot.delta_sha256 else [])):
        return publish_round(round_, merged, standing, screened)


def _claim(round_id: int) -> bool:
    """Keep a second process from the same work for a while; correctness does not rest on it."""
    stale = now() - timedelta(seconds=settings.MERGE_CLAIM_SECONDS)
    unclaimed = Q(merge_claimed_at=None) | Q(merge_claimed_at__lte=stale)
    merging = Round.objects.filter(unclaimed, pk=round_id, state=Round.State.MERGING)
    return bool(merging.update(merge_claimed_at=now()))


def _screen(round_: Round) -> tuple[list[Result], list[Result]]:
    """The results that stand, in order of shard, and those that do not, with reasons."""
    taking_part = Result.objects.filter(pk__in=round_.participants).order_by("unit__shard")
    results = list(taking_part.select_related("lease__worker", "verification"))
    reasons = screen(evidence_of(round_, results))
    for index, reason in reasons.items():
        results[index].code = reason
        logger.warning("%s: result %s is left out: %s", round_, results[index].sha256, reason)
    standing = [result for index, result in enumerate(results) if index not in reasons]
    return standing, [results[index] for index in sorted(reasons)]


def _merge(round_: Round, standing: list[Result], left_out: int) -> Merged:
    """Write the next snapshot and optimiser state, and each result's share onto it."""
    run, number = round_.run, round_.number + 1
    start, plan = Snapshot.objects.get(run=run, number=round_.number), run.merge_plan
    header, names = snapshot_header(run.manifest, number), plan.outer.state_names
    with ExitStack() as stack:
        weights, *states = (stack.enter_context(blobs().new_file()) for _ in ("w", *names))
        weights.write(header)
        report = merge(
            snapshot_vector(start),
            outer_state(start, names),
            contributions(run, standing),
            plan,
            weights.write,
            [state.write for state in states],
            left_out,
        )
        snapshot, residual = _seal(start, header, weights)
        sealed = {name: state.seal() for name, state in zip(names, states, strict=True)} | residual
    for result, share in zip(standing, report.shares or [None] * len(standing), strict=True):
        result.weight = share
    logger.info("%s: merged by %s, LoRA bias %s", round_, report.rule, report.lora_bias)
    if report.fallback:
        logger.warning("%s: merged by %s: %s", round_, report.rule, report.fallback)
    return Merged(snapshot, sealed, report)


def _seal(start: Snapshot, header: bytes, weights: BlobWriter) -> tuple[Snapshot, dict[str, Blob]]:
    """The snapshot after ``start``, unsaved, and what its compression left out, if it has one."""
    run, snapshot = start.run, Snapshot(run=start.run, number=start.number + 1)
    snapshot.data_start = len(header)
    if not run.downlink:
        sealed = weights.seal()
        snapshot.sha256, snapshot.size = sealed.sha256, sealed.size
        return snapshot, {}
    target = VectorFile(weights.flush(), len(header), run.manifest.parameters)
    compressed = compress_snapshot(run, start, header, target)
    snapshot.sha256, snapshot.size = compressed.snapshot.sha256, compressed.snapshot.size
    snapshot.delta_sha256, snapshot.delta_size = compressed.delta.sha256, compressed.delta.size
    return snapshot, {RESIDUAL: compressed.residual}


def contributions(run: Run, standing: list[Result]) -> list[Contribution]:
    """The results that stand, with their weights and whether they are beyond doubt.

    A worker says how many tokens it trained on; what its task cannot hold does not count. No
    standing changes while a round merges, so that doing it again gives the same weights.
    """
    most = run.batch_size * run.seq_len * run.inner_steps
    by_tokens = run.merge_plan.rule.by_tokens
    return [
        Contribution(
            result_vector(result),
            weight=(min(result.tokens or 1, most) if by_tokens else 1.0)
            * (trust_in(result) if run.trust_weights else 1.0),
            norm=result.update_norm,
            trusted=is_beyond_doubt(run, result),
        )
        for result in standing
    ]
