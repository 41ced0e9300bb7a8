"""Delete a run's raw text once its shards are made."""

from coordination.models import Chunk, Preparation, Run
from coordination.rounds.retain import is_named
from coordination.storage import blobs


def forget_text(run: Run) -> int:
    """How many chunks were deleted. Safe to do again after a crash: a chunk is named until its
    bytes are gone."""
    if Preparation.objects.filter(run=run, prepared_at=None).exists():
        return 0
    chunks = list(Chunk.objects.filter(run=run).exclude(sha256=""))
    for chunk in chunks:
        blobs().drop(chunk.sha256, is_named)
        Chunk.objects.filter(pk=chunk.pk).update(sha256="")
    return len(chunks)
