"""Where this server keeps bytes: the blob store and the folder of unfinished uploads."""

import shutil
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from django.conf import settings

from coordination.aggregation.vectors import VectorFile
from coordination.models import OuterState, Result, Snapshot
from coordination.store.local import BlobStore
from worker_client.contract.errors import Refusal, Refused


@cache
def _store(root: Path) -> BlobStore:
    return BlobStore(root)


def blobs() -> BlobStore:
    return _store(Path(settings.BLOB_ROOT))


def upload_path(token: str) -> Path:
    folder = Path(settings.UPLOAD_ROOT)
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{token}.part"


def demand_space(size: int) -> None:
    """Refuse before a byte travels if ``size`` bytes would not fit twice: as sent and as kept.

    Raises:
        Refused: DISK_FULL.
    """
    Path(settings.BLOB_ROOT).mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(settings.BLOB_ROOT).free
    if free - 2 * size < settings.DISK_RESERVE_BYTES:
        raise Refused(
            Refusal.DISK_FULL,
            "the coordinator's disk is full; keep the result and try again later",
            retry_after=300,
        )


def snapshot_vector(snapshot: Snapshot) -> VectorFile:
    count = (snapshot.size - snapshot.data_start) // 4
    return VectorFile(blobs().path(snapshot.sha256), snapshot.data_start, count)


def outer_state(snapshot: Snapshot, names: Iterable[str]) -> list[VectorFile]:
    """The optimiser's vectors of those names; none in a run's first round."""
    digests = dict(OuterState.objects.filter(snapshot=snapshot).values_list("name", "sha256"))
    return [raw_vector(digests[name]) for name in names] if digests else []


def result_vector(result: Result) -> VectorFile:
    return raw_vector(result.vector_sha256)


def raw_vector(sha256: str) -> VectorFile:
    return VectorFile(blobs().path(sha256), 0, blobs().size(sha256) // 4)
