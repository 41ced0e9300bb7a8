"""A content-addressed store in a local folder: a blob's name is the SHA-256 of its bytes.

Layout: ``ab/cdef...`` for the blob ``abcdef...``, ``tmp/`` for what is being written, ``.lock``
for the lock that keeps writers and the collector apart, between processes and threads alike.
"""

import fcntl
import hashlib
import os
import re
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

ONE_DAY_S = 86_400.0
_DIGEST = re.compile(r"[0-9a-f]{64}")


class BlobMissing(FileNotFoundError):
    """The store has no blob of that digest."""


class BadDigest(ValueError):
    """Not 64 lower-case hexadecimal digits."""


@dataclass(frozen=True)
class Blob:
    """A sealed blob: its digest and its size in bytes."""

    sha256: str
    size: int


class BlobWriter:
    """Bytes on their way into the store; invisible there until `seal`."""

    def __init__(self, store: "BlobStore", path: Path, file: BinaryIO) -> None:
        self.path, self.file = path, file
        self._store = store
        self._hash = hashlib.sha256()
        self._size = 0

    def write(self, data: bytes | bytearray | memoryview) -> int:
        """Append ``data``; returns its length in bytes."""
        self._hash.update(data)
        written = self.file.write(data)
        self._size += written
        return written

    def flush(self) -> Path:
        """Where all that was written can be read, until the file is sealed or vanishes."""
        self.file.flush()
        return self.path

    def seal(self) -> Blob:
        """Make what was written durable and visible under its digest; can be done once."""
        self.file.flush()
        os.fsync(self.file.fileno())
        self.file.close()
        blob = Blob(self._hash.hexdigest(), self._size)
        self._store._adopt(self.path, blob.sha256)
        return blob


class BlobStore:
    """Blobs under ``root``, safe against crashes, other processes and other threads.

    A row may name a digest only after that digest was sealed, again if it had been there
    before: sealing renews the time that keeps the collector away until the row is committed.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._temporary = root / "tmp"
        self._temporary.mkdir(parents=True, exist_ok=True)

    @contextmanager
    def new_file(self) -> Iterator[BlobWriter]:
        """A writer whose bytes become a blob by `BlobWriter.seal`, and vanish without it."""
        path = self._temporary / secrets.token_hex(16)
        try:
            with path.open("x+b") as file:
                yield BlobWriter(self, path, file)
        finally:
            path.unlink(missing_ok=True)

    @contextmanager
    def kept(self, *digests: str) -> Iterator[None]:
        """Keep the collector out while rows that name ``digests`` are committed.

        A sealed blob is safe for a day, but a clock that is set forward makes it a day old.

        Raises:
            BlobMissing: the collector has been there already; write the blob again.
        """
        with self._lock(fcntl.LOCK_SH):
            for sha256 in digests:
                self.path(sha256)
            yield

    def has(self, sha256: str) -> bool:
        return self._place(sha256).is_file()

    def path(self, sha256: str) -> Path:
        """Where the blob lies, for reading only.

        Raises:
            BlobMissing: it is not in the store.
            BadDigest: ``sha256`` is no digest.
        """
        place = self._place(sha256)
        if not place.is_file():
            raise BlobMissing(f"no blob {sha256}; restore it from a backup of the blob folder")
        return place

    def size(self, sha256: str) -> int:
        """Size in bytes; raises as `path` does."""
        return self.path(sha256).stat().st_size

    def open(self, sha256: str) -> BinaryIO:
        """The blob opened for reading; raises as `path` does."""
        return self.path(sha256).open("rb")

    def read_range(self, sha256: str, start: int, stop: int) -> bytes:
        """Bytes ``start`` to ``stop`` (exclusive), fewer at the blob's end; raises as `path`."""
        if not 0 <= start <= stop:
            raise ValueError(f"no range of bytes: {start} to {stop}")
        with self.open(sha256) as file:
            file.seek(start)
            return file.read(stop - start)

    def collect(
        self, is_named: Callable[[str], bool], older_than_s: float = ONE_DAY_S
    ) -> list[str]:
        """Remove blobs that are unnamed and old, and temporary files as old.

        ``is_named`` says whether any row names a digest. It is asked once without the lock,
        so that writers wait only for blobs that are about to go, and again under it.

        Returns:
            The digests of the blobs removed.
        """
        limit = time.time() - older_than_s
        for left_over in self._temporary.iterdir():
            if _is_older(left_over, limit):
                left_over.unlink(missing_ok=True)
        return [sha256 for sha256 in self._digests() if self._collect_one(sha256, is_named, limit)]

    def drop(self, sha256: str, is_named: Callable[[str], bool]) -> bool:
        """Remove a blob now, however young, unless a row names it; whether it was removed."""
        place = self._place(sha256)
        with self._lock(fcntl.LOCK_EX):
            if is_named(sha256) or not place.exists():
                return False
            place.unlink()
            return True

    def _collect_one(self, sha256: str, is_named: Callable[[str], bool], limit: float) -> bool:
        place = self._place(sha256)
        if not _is_older(place, limit) or is_named(sha256):
            return False
        with self._lock(fcntl.LOCK_EX):
            if not _is_older(place, limit) or is_named(sha256):
                return False
            place.unlink()
            return True

    def _digests(self) -> Iterator[str]:
        for place in self.root.glob("[0-9a-f][0-9a-f]/*"):
            name = place.parent.name + place.name
            if _DIGEST.fullmatch(name):
                yield name

    def _place(self, sha256: str) -> Path:
        if not _DIGEST.fullmatch(sha256):
            raise BadDigest(f"{sha256[:80]!r} is not a SHA-256 in 64 lower-case hex digits")
        return self.root / sha256[:2] / sha256[2:]

    def _adopt(self, path: Path, sha256: str) -> None:
        """Rename a written file into place, over an older copy of the same bytes if any."""
        place = self._place(sha256)
        with self._lock(fcntl.LOCK_SH):
            place.parent.mkdir(exist_ok=True)
            os.utime(path)
            os.replace(path, place)
            _sync_folder(place.parent)
            _sync_folder(self.root)

    @contextmanager
    def _lock(self, mode: int) -> Iterator[None]:
        # flock belongs to the open file: opened anew each time, it excludes threads as well.
        with (self.root / ".lock").open("ab") as file:
            fcntl.flock(file, mode)
            yield


def _is_older(path: Path, limit: float) -> bool:
    """Whether the file was last written before ``limit`` (seconds since the epoch)."""
    try:
        return path.stat().st_mtime < limit
    except FileNotFoundError:
        return False


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
