"""A worker's own receipts: what it delivered and what became of it."""

from coordination.models import Result, Unit, Worker
from coordination.results.fate import FATES, JOBS
from worker_client.contract.wire import Receipt, Receipts

PAGE = 100


def receipts_of(worker: Worker, before: int | None = None) -> Receipts:
    """The newest receipts, or the next ones after those down to number ``before``."""
    results = Result.objects.filter(lease__worker=worker).order_by("-pk")
    if before is not None:
        results = results.filter(pk__lt=before)
    rows = list(results.select_related("lease", "unit__round")[: PAGE + 1])
    shown = rows[:PAGE]
    return Receipts(
        worker=worker.name,
        sequence=worker.sequence,
        receipts=[_receipt(result) for result in shown],
        before=shown[-1].pk if len(rows) > PAGE else None,
    )


def _receipt(result: Result) -> Receipt:
    return Receipt(
        lease_id=result.lease.token,
        job=JOBS[Unit.Job(result.unit.job)].value,
        round=result.unit.round.number,
        shard=result.unit.shard,
        sha256=result.sha256,
        size=result.size,
        fate=FATES[Result.State(result.state)],
        code=result.code or None,
        weight=result.weight,
        tokens=result.tokens,
        loss=result.loss,
        received_at=result.created_at,
    )
