"""How far a run's raw text is."""

from django.db.models import Count, Q

from coordination.models import Check, Chunk, Preparation, Result, Run, Unit
from worker_client.contract.wire import ChunkCounts


def is_preparing(run: Run) -> bool:
    """Whether the run's shards have still to be made of its text."""
    return Preparation.objects.filter(run=run, prepared_at=None).exists()


def chunk_counts(run: Run) -> ChunkCounts | None:
    """None for a run that has its shards, or never had text."""
    if not is_preparing(run):
        return None
    done = Count("pk", filter=Q(unit__state=Unit.State.DONE))
    return ChunkCounts(**Chunk.objects.filter(run=run).aggregate(total=Count("pk"), done=done))


def has_chunks_left(run: Run) -> bool:
    units = Unit.objects.filter(chunk__run=run).exclude(state=Unit.State.DONE)
    return is_preparing(run) and units.exists()


def pending_checks(run: Run) -> list[int]:
    """Ids of the checks that this server has still to make, oldest first."""
    pending = Check.objects.filter(result__unit__chunk__run=run, state=Check.State.PENDING)
    return list(pending.order_by("pk").values_list("pk", flat=True))


def rows_of_chunks(run: Run) -> list[str] | None:
    """Digests of the rows of all chunks, in the order of the chunks; None while one is missing
    or under check."""
    if pending_checks(run):
        return None
    held = Result.objects.filter(unit__chunk__run=run, holds_unit=True)
    found = list(held.order_by("unit__chunk__index").values_list("vector_sha256", flat=True))
    return found if len(found) == Chunk.objects.filter(run=run).count() else None
