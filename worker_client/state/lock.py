"""One process per state folder and coordinator."""

import sys
from pathlib import Path
from typing import IO


class StateBusy(Exception):
    """Another process works with this folder; the message names the remedy."""


class FolderLock:
    """An exclusive lock that the operating system drops when the process ends, however it does."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[str] | None = None

    def acquire(self) -> None:
        """Take the lock.

        Raises:
            StateBusy: another process holds it.
        """
        file = self._path.open("a+", encoding="utf-8")
        try:
            _lock(file)
        except OSError:
            file.close()
            raise StateBusy(
                f"another worker already works for this coordinator with {self._path.parent}; "
                "stop it first, or give this one its own --state-dir"
            ) from None
        self._file = file

    def release(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


if sys.platform == "win32":
    import msvcrt

    def _lock(file: IO[str]) -> None:
        file.seek(0)
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock(file: IO[str]) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
