"""Repeat a chunk and compare: the same text makes the same rows, to the bit."""

from django.db import transaction

from coordination.child import ask_worker_client
from coordination.clock import now
from coordination.models import Check, Preparation, Result, Round, Unit, Worker, touch
from coordination.storage import blobs
from coordination.trust.record import lock_workers, record_error
from coordination.verification.finish import finish_check, let_go
from coordination.workers.hide_text import hide_text

PATIENCE_S = 900.0


def check_chunk(check: Check) -> None:
    """Reach a verdict on rows under check.

    Raises:
        ChildFailed, BlobMissing: this server cannot prepare the chunk itself.
    """
    judge_rows(check, _repeat(check.result))


def _repeat(result: Result) -> str:
    """Digest of the rows that this server makes of the result's chunk."""
    chunk = result.unit.chunk
    assert chunk is not None, "the database holds that this job has a chunk"
    run, store = chunk.run, blobs()
    how = Preparation.objects.get(run=run)
    answer = ask_worker_client(
        *("chunks", "prepare", run.format, "--seq", str(run.seq_len)),
        *("--tokenizer", str(store.path(how.tokenizer_sha256))),
        *("--raw", str(store.path(chunk.sha256)), "--languages", ",".join(how.languages)),
        timeout_s=PATIENCE_S,
    )
    return answer["sha256"]


@transaction.atomic
def judge_rows(check: Check, expected: str) -> None:
    """Compare with ``expected``. A worker whose rows differ is shown no more text, and all its
    chunks that were not found right are free again for others."""
    result = check.result
    lock_workers([result.lease.worker_id])
    Round.objects.select_for_update().get(pk=result.unit.round_id)
    check.refresh_from_db()
    if check.state != Check.State.PENDING:
        return
    agrees = result.vector_sha256 == expected
    check.evidence = [{"rows": expected, "agrees": agrees}]
    check.save(update_fields=["evidence"])
    finish_check(check, Check.State.VALID if agrees else Check.State.INVALID)
    if not agrees:
        _distrust(result.lease.worker)
    touch(result.unit.round.run_id)


def _distrust(worker: Worker) -> None:
    record_error(worker.pk)
    hide_text(worker, "its rows differ from those that this server makes of the same text")
    mine = Result.objects.filter(lease__worker=worker, unit__job=Unit.Job.PREPROCESS)
    for result in mine.filter(holds_unit=True).exclude(verification__state=Check.State.VALID):
        let_go(result, Result.State.UNVERIFIED, "")
        pending = Check.objects.filter(result=result, state=Check.State.PENDING)
        pending.update(state=Check.State.LATE, decided_at=now())
