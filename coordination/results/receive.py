"""Judge a delivered file once, and take it in if it is valid and still wanted.

The file's digest has been verified before. The verdict is stored under (lease, digest), so the
same bytes get the same answer for as long as the row lives, and count once.
"""

import hmac
import math
from pathlib import Path

from django.conf import settings

from coordination.aggregation.check import check_result
from coordination.models import Lease, Result, Run, Snapshot, Unit
from coordination.preparing.begin import begin_chunk_check
from coordination.preparing.read import read_rows
from coordination.results.evaluation import evaluated, keep_evaluation, read_evaluation
from coordination.results.take import demand_wanted, store_refusal, stored_verdict, take_result
from coordination.results.uploads import disk_full
from coordination.rounds.close import close_if_ready
from coordination.storage import blobs, snapshot_vector
from coordination.store.local import BlobMissing
from coordination.verification.begin import begin_check
from coordination.verification.judge import judge, opinions_of
from coordination.verification.judge_losses import judge_losses, measurement_of
from coordination.verification.measure import shards_to_measure
from coordination.verification.verifiers import involved
from worker_client.contract.errors import Refusal, Refused

STATES = {
    Unit.Job.TRAIN: Result.State.WAITING,
    Unit.Job.VERIFY: Result.State.USED,
}
# These end the lease and are remembered; every other refusal may be followed by another try.
LASTING = {
    Refusal.UNIT_TAKEN,
    Refusal.ROUND_CLOSED,
    Refusal.CORRUPT_FILE,
    Refusal.TENSOR_MISSING,
    Refusal.TENSOR_EXTRA,
    Refusal.WRONG_SHAPE,
    Refusal.WRONG_DTYPE,
    Refusal.NOT_FINITE,
    Refusal.NORM_EXCEEDED,
    Refusal.WRONG_ENCODING,
    Refusal.COMMITMENT_MISMATCH,
}


def receive_result(run: Run, lease: Lease, file: Path, sha256: str) -> Result:
    """Take ``file``, whose SHA-256 is ``sha256``, as the result of ``lease``.

    Raises:
        Refused: with a lasting refusal (stored; the lease ends, its unit is free again) or with
            DISK_FULL (nothing stored, the lease lives).
    """
    known = stored_verdict(lease, sha256)
    if known:
        return known
    try:
        result = _read_and_take(run, lease, file, sha256)
    except Refused as refused:
        if refused.refusal not in LASTING:
            raise
        store_refusal(lease, sha256, file.stat().st_size, refused)
        # The same bytes may have been taken while these were checked: then that is the verdict.
        accepted = stored_verdict(lease, sha256)
        if accepted is None:
            raise
        result = accepted
    close_if_ready(lease.unit.round_id)
    return result


def _read_and_take(run: Run, lease: Lease, file: Path, sha256: str) -> Result:
    demand_wanted(lease, lease.unit.round)
    if lease.commitment and lease.commitment != sha256:
        raise Refused(
            Refusal.COMMITMENT_MISMATCH,
            "this is not the file whose digest was told before",
        )
    if lease.unit.job == Unit.Job.EVALUATE:
        return _take_evaluation(run, lease, file, sha256)
    if lease.unit.job == Unit.Job.PREPROCESS:
        return _take_rows(run, lease, file, sha256)
    return _check_and_take(run, lease, file, sha256)


def _take_evaluation(run: Run, lease: Lease, file: Path, sha256: str) -> Result:
    """A snapshot's loss is kept, a result's judges it."""
    target = lease.unit.target
    candidates = 1 if target is None else 2 + 2 * len(shards_to_measure(run, lease.unit))
    answer = read_evaluation(lease, file, candidates)
    result = evaluated(lease, answer, sha256, file.stat().st_size)
    if target is None:
        return take_result(run, lease, result, (), lambda: keep_evaluation(result))
    opinion = measurement_of(target, result, answer.losses)
    parties = involved(target).values_list("worker", flat=True)
    return take_result(run, lease, result, parties, lambda: judge_losses(run, target, opinion))


def _take_rows(run: Run, lease: Lease, file: Path, sha256: str) -> Result:
    """The rows of a text are kept until they are mixed, perhaps under check."""
    try:
        with blobs().new_file() as writer:
            rows, metadata = read_rows(run, lease, file, writer)
            blob = writer.seal()
    except OSError as error:
        raise disk_full(error) from error
    result = Result(
        lease=lease,
        unit=lease.unit,
        sha256=sha256,
        size=file.stat().st_size,
        state=Result.State.USED,
        holds_unit=True,
        vector_sha256=blob.sha256,
        **_metrics(metadata) | {"tokens": rows * (run.seq_len - 1)},
    )
    try:
        with blobs().kept(blob.sha256):
            return take_result(run, lease, result, (), lambda: begin_chunk_check(run, result))
    except BlobMissing as error:
        raise disk_full(error) from None


def _check_and_take(run: Run, lease: Lease, file: Path, sha256: str) -> Result:
    start = Snapshot.objects.get(run=run, number=lease.unit.round.number)
    try:
        with blobs().new_file() as writer:
            vector = snapshot_vector(start)
            checked = check_result(
                file,
                run.manifest,
                vector,
                run.norm_limit,
                writer,
                sketch_key(run),
                lease.encoding,
            )
            blob = writer.seal()
    except OSError as error:
        raise disk_full(error) from error
    result = Result(
        lease=lease,
        unit=lease.unit,
        sha256=sha256,
        size=file.stat().st_size,
        state=STATES[Unit.Job(lease.unit.job)],
        holds_unit=True,
        vector_sha256=blob.sha256,
        update_norm=checked.delta_norm,
        sketch=checked.sketch.tobytes() if lease.unit.job == Unit.Job.TRAIN else None,
        **_metrics(checked.metadata),
    )
    try:
        with blobs().kept(blob.sha256):
            return _take(run, lease, result)
    except BlobMissing as error:
        raise disk_full(error) from None


def sketch_key(run: Run) -> bytes:
    """A run's secret for ``Sketcher``: a worker who knew it could hide a copy."""
    return hmac.digest(settings.LEASE_SECRET, f"sketch of run {run.pk}".encode(), "sha256")


def _take(run: Run, lease: Lease, result: Result) -> Result:
    """A trained shard waits for the merge, perhaps under check; a repetition judges another's."""
    if lease.unit.job == Unit.Job.TRAIN:
        return take_result(run, lease, result, (), lambda: begin_check(run, result))
    target = lease.unit.target
    assert target is not None, "the database holds that other jobs have targets"
    opinions = opinions_of(run, target, result)
    parties = involved(target).values_list("worker", flat=True)
    return take_result(run, lease, result, parties, lambda: judge(run, target, opinions))


def _metrics(metadata: dict[str, str]) -> dict:
    """What the file says of its own making: shown to people, never relied on."""
    mean = "kayip" if "kayip" in metadata else "kayip_son"
    return {
        "loss": _number(metadata, mean, 1e6),
        "loss_first": _number(metadata, "kayip_ilk", 1e6),
        "loss_last": _number(metadata, "kayip_son", 1e6),
        "tokens": int(_number(metadata, "token", 2**32) or 0) or None,
        "train_seconds": _number(metadata, "sure_s", 1e8),
        "device": metadata.get("cihaz", "")[:100],
        "dtype": metadata.get("dtype", "")[:40],
        "worker_version": metadata.get("surum", "")[:40],
    }


def _number(metadata: dict[str, str], name: str, limit: float) -> float | None:
    try:
        value = float(metadata.get(name, ""))
    except ValueError:
        return None
    return value if math.isfinite(value) and 0 <= value <= limit else None
