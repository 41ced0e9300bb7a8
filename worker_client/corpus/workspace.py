"""The folder of a corpus, and what every step does there: plan, lock, files, report.

A step writes its plan before anything else. Started again with the same plan, it goes on where it
was; with another one, it refuses, since what lies there was made otherwise.
"""

import json
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from worker_client.data.errors import DataError
from worker_client.state.atomic import sync_folder
from worker_client.state.lock import FolderLock, StateBusy

PLAN, LOCK = "plan.json", "lock"
# To be raised when a plan no longer gives the bytes that it gave.
VERSION = 1


class Step:
    """One step's own folder in the corpus's, or another; of that one's files ``makes`` are its."""

    def __init__(
        self,
        corpus: Path,
        name: str,
        folder: Path | None = None,
        report: str = "report.json",
        makes: tuple[str, ...] = (),
    ) -> None:
        self.name, self.corpus, self.folder = name, corpus, folder or corpus / name
        self._report, self._makes = self.folder / report, makes

    @property
    def is_done(self) -> bool:
        return self._report.is_file()

    def report(self) -> dict:
        """What the step found.

        Raises:
            DataError: it has not been done.
        """
        if not self.is_done:
            raise DataError(f"{self.corpus} has not been through `corpus {self.name}` yet")
        return json.loads(self._report.read_text("utf-8"))

    @contextmanager
    def working(self, plan: dict, *, again: bool = False) -> Iterator[None]:
        """Hold the folder while working by ``plan``; ``again`` throws away what is there.

        Raises:
            DataError: another process is at work, or did it by another plan.
        """
        self.corpus.mkdir(parents=True, exist_ok=True)
        lock = FolderLock(self.corpus / LOCK)
        try:
            lock.acquire()
        except StateBusy:
            raise DataError(f"another process is at work in {self.corpus}; wait for it") from None
        try:
            if again and (self.folder / PLAN).is_file():
                self._clear()
            self.folder.mkdir(parents=True, exist_ok=True)
            self._agree(plan)
            yield
        finally:
            lock.release()

    def _clear(self) -> None:
        """In an order that leaves nothing to be mistaken for work of a new plan, if killed."""
        if self._makes:
            for pattern in (*self._makes, "*.part", self._report.name, PLAN):
                for path in self.folder.glob(pattern):
                    path.unlink()
            return
        old = self.folder.with_name(f"{self.name}.old")
        shutil.rmtree(old, ignore_errors=True)
        self.folder.rename(old)
        shutil.rmtree(old)

    def _agree(self, plan: dict) -> None:
        path, text = self.folder / PLAN, to_text({"version": VERSION, **plan})
        if not path.exists():
            if self.is_done:
                raise DataError(f"{self.folder} holds other work; name another folder")
            write(path, [text.encode()])
        elif differing := _differences(json.loads(path.read_text("utf-8")), json.loads(text)):
            raise DataError(
                f"{self.folder} was made with other {', '.join(differing)}; add --again to make it "
                "anew, or name another folder"
            )

    def finish(self, report: dict) -> dict:
        write(self._report, [to_text(report).encode()])
        return report


def _differences(one: dict, other: dict) -> list[str]:
    return sorted(name for name in {*one, *other} if one.get(name) != other.get(name))


def to_text(report: dict) -> str:
    return json.dumps(report, ensure_ascii=False, indent=1) + "\n"


def write(path: Path, parts: Iterable[bytes]) -> None:
    """A file that is whole under its name, whatever happens."""
    temporary = path.with_name(path.name + ".part")
    with temporary.open("wb") as file:
        file.writelines(parts)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    sync_folder(path.parent)
