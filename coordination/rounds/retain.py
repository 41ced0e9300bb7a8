"""Let go of old snapshots and results, and collect the bytes that no row names any more."""

import time

from django.db.models import Q

from coordination.clock import now
from coordination.models import (
    Chunk,
    DataShard,
    HeldOut,
    Lease,
    OuterState,
    Preparation,
    Result,
    Run,
    Samples,
    Snapshot,
    Upload,
)
from coordination.storage import blobs, upload_path

ONE_DAY_S = 86_400.0


def collect_blobs(older_than_s: float = ONE_DAY_S) -> list[str]:
    """Apply every run's retention, then delete unnamed bytes; returns the digests deleted."""
    for run in Run.objects.all():
        retire_snapshots(run)
    _drop_ended_uploads(older_than_s)
    return blobs().collect(is_named, older_than_s)


def retire_snapshots(run: Run) -> int:
    """Mark snapshots before the last ``keep_snapshots`` as deleted; the newest always stays.

    The results merged into a deleted snapshot let go of their vectors with it, and its samples go.
    """
    newest = Snapshot.objects.filter(run=run).order_by("-number").first()
    if newest is None:
        return 0
    oldest_kept = newest.number - run.keep_snapshots + 1
    old = Snapshot.objects.filter(run=run, number__lt=oldest_kept, deleted_at=None)
    Result.objects.filter(unit__round__run=run, unit__round__number__lt=oldest_kept - 1).exclude(
        vector_sha256=""
    ).update(vector_sha256="")
    retired = old.update(deleted_at=now())
    Samples.objects.filter(snapshot__run=run).exclude(snapshot__deleted_at=None).delete()
    return retired


def is_named(sha256: str) -> bool:
    """Whether any row still needs the blob."""
    live = Snapshot.objects.filter(deleted_at=None)
    return (
        live.filter(Q(sha256=sha256) | Q(delta_sha256=sha256)).exists()
        or OuterState.objects.filter(snapshot__deleted_at=None, sha256=sha256).exists()
        or DataShard.objects.filter(sha256=sha256).exists()
        or HeldOut.objects.filter(sha256=sha256).exists()
        or Result.objects.filter(vector_sha256=sha256).exists()
        or Preparation.objects.filter(tokenizer_sha256=sha256).exists()
        or Chunk.objects.filter(sha256=sha256, run__preparation__prepared_at=None).exists()
        or Run.objects.filter(tokenizer_sha256=sha256, sampleprompts__isnull=False).exists()
    )


def _drop_ended_uploads(older_than_s: float) -> None:
    """Unfinished uploads of leases that ended long ago, then files that no upload names."""
    ended = Upload.objects.exclude(lease__state=Lease.State.LIVE).select_related("lease")
    horizon = now().timestamp() - older_than_s
    for upload in ended:
        if upload.lease.expires_at.timestamp() < horizon:
            upload_path(upload.lease.token).unlink(missing_ok=True)
            upload.delete()
    named = set(Upload.objects.values_list("lease__token", flat=True))
    for path in upload_path("x").parent.glob("*.part"):
        if path.stem not in named and path.stat().st_mtime < time.time() - older_than_s:
            path.unlink(missing_ok=True)
