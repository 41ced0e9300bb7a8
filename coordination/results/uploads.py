"""Results on their way in chunks. The file's length is the offset: nothing else remembers it."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from typing import Protocol

from django.db import transaction

from coordination.models import Lease, Run, Unit, Upload
from coordination.storage import demand_space, upload_path
from worker_client.contract import MAX_JSON_BYTES
from worker_client.contract.errors import Refusal, Refused
from worker_client.contract.recipe import MOST_TOKENS_PER_BYTE
from worker_client.contract.tensors import MAX_HEADER_BYTES
from worker_client.contract.wire import Announcement


class Readable(Protocol):
    """A request, or anything else whose body is read piece by piece."""

    def read(self, size: int, /) -> bytes: ...


def size_limit(run: Run, unit: Unit) -> int:
    """The largest result file, in bytes, that can be valid for the unit's job and format."""
    if unit.job == Unit.Job.EVALUATE:
        return MAX_JSON_BYTES
    if unit.chunk is not None:
        return 8 + MAX_HEADER_BYTES + 4 * MOST_TOKENS_PER_BYTE * unit.chunk.size
    return 8 + MAX_HEADER_BYTES + run.manifest.data_bytes


def check_size(run: Run, unit: Unit, size: int) -> None:
    """Raises Refused TOO_LARGE before any byte of an impossible file travels."""
    limit = size_limit(run, unit)
    if size > limit:
        raise Refused(
            Refusal.TOO_LARGE,
            f"{size} bytes announced; a result of this task has at most {limit}",
        )


def announce(run: Run, lease: Lease, announcement: Announcement) -> bool:
    """Remember what will be uploaded; True when it is new, so that the upload starts at 0.

    Raises:
        Refused: TOO_LARGE or DISK_FULL, both before a byte travels.
    """
    check_size(run, lease.unit, announcement.size)
    known = Upload.objects.filter(lease=lease).first()
    if known and (known.size, known.sha256) == (announcement.size, announcement.sha256):
        return False
    demand_space(announcement.size)
    with exclusive(lease.token) as file, transaction.atomic():
        file.truncate(0)
        values = {"size": announcement.size, "sha256": announcement.sha256}
        Upload.objects.update_or_create(lease=lease, defaults=values)
    return True


def announced(lease: Lease) -> Upload:
    """Raises Refused NOT_ANNOUNCED when no ``PUT`` came first."""
    upload = Upload.objects.filter(lease=lease).first()
    if upload is None:
        raise Refused(
            Refusal.NOT_ANNOUNCED,
            "announce the file with PUT before sending its chunks",
        )
    return upload


def offset(lease: Lease) -> int:
    path = upload_path(lease.token)
    return path.stat().st_size if path.exists() else 0


@contextmanager
def exclusive(token: str) -> Iterator[FileIO]:
    """The upload's file, opened for appending, while nobody else writes or checks it.

    Raises:
        Refused: CHECKING while another request holds it.
    """
    path: Path = upload_path(token)
    # Unbuffered: what a full disk refused must not be tried again when the file is closed.
    with open(path, "ab", buffering=0) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Refused(
                Refusal.CHECKING,
                "this result is being received or checked",
                retry_after=1,
            ) from None
        yield file


def append(file: FileIO, upload: Upload, at: int, body: Readable, length: int) -> int:
    """Write one chunk of ``length`` bytes at offset ``at``; returns the new offset.

    A chunk is taken whole or not at all.

    Raises:
        Refused: OFFSET_MISMATCH with the right offset, TOO_LARGE, BODY_SHORT or DISK_FULL.
    """
    have = os.fstat(file.fileno()).st_size
    if at != have:
        raise Refused(Refusal.OFFSET_MISMATCH, f"continue at offset {have}", ofset=have)
    if at + length > upload.size:
        raise Refused(
            Refusal.TOO_LARGE,
            f"{upload.size} bytes were announced; this chunk ends beyond them",
        )
    data = body.read(length)
    if len(data) < length:
        raise Refused(Refusal.BODY_SHORT, f"{len(data)} of {length} bytes came; send them again")
    try:
        _write_all(file, data)
    except OSError as error:
        file.truncate(have)
        raise disk_full(error) from None
    return have + length


def _write_all(file: FileIO, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[file.write(rest) :]


def disk_full(error: OSError) -> Refused:
    detail = f"the coordinator cannot write ({error.strerror}); keep the result and try again later"
    return Refused(Refusal.DISK_FULL, detail, retry_after=300)


def forget(lease: Lease) -> None:
    """Drop what was uploaded: it is stored elsewhere, was refused, or was corrupt."""
    Upload.objects.filter(lease=lease).delete()
    upload_path(lease.token).unlink(missing_ok=True)
