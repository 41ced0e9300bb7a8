"""Read and keep what a worker measured."""

from pathlib import Path

from pydantic import ValidationError

from coordination.models import Evaluation, Lease, Result
from worker_client.contract import wire
from worker_client.contract.errors import Refusal, Refused


def read_evaluation(lease: Lease, file: Path, candidates: int) -> wire.Evaluation:
    """The answer in ``file``, about as many candidates and as much data as the lease has.

    Raises:
        Refused: CORRUPT_FILE.
    """
    held_out = lease.unit.held_out
    assert held_out is not None, "every evaluation has held-out data"
    try:
        answer = wire.Evaluation.model_validate_json(file.read_bytes())
    except ValidationError as error:
        raise Refused(Refusal.CORRUPT_FILE, f"no answer to olc: {wire.explain(error)}") from None
    if len(answer.losses) != candidates:
        raise Refused(
            Refusal.CORRUPT_FILE, f"{len(answer.losses)} losses for {candidates} candidates"
        )
    if (answer.tokens, answer.bytes) != (held_out.tokens, held_out.bytes):
        raise Refused(
            Refusal.CORRUPT_FILE,
            f"the data has {held_out.tokens} tokens and {held_out.bytes} bytes to predict, not "
            f"{answer.tokens} and {answer.bytes}",
        )
    return answer


def evaluated(lease: Lease, answer: wire.Evaluation, sha256: str, size: int) -> Result:
    """An unsaved result."""
    return Result(
        lease=lease,
        unit=lease.unit,
        sha256=sha256,
        size=size,
        state=Result.State.USED,
        holds_unit=True,
        loss=answer.losses[0],
        tokens=answer.tokens,
        train_seconds=answer.seconds,
        device=answer.device,
        dtype=answer.dtype,
        worker_version=answer.version,
    )


def keep_evaluation(result: Result) -> None:
    """Call it inside the transaction that takes the result in."""
    unit, loss = result.unit, result.loss
    assert unit.snapshot and unit.held_out and loss is not None, "or it evaluates no snapshot"
    Evaluation.objects.create(
        snapshot=unit.snapshot, held_out=unit.held_out, result=result, loss=loss
    )
