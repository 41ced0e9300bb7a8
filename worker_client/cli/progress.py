"""Progress of long commands on standard error, so that standard output stays for results."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress, TaskID

from worker_client.models import progress as jobs


class Bars:
    """A bar per stage; what ``models.progress.Progress`` describes."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._bars: dict[str, TaskID] = {}

    def __call__(self, stage: str, done: int, total: int | None, unit: str) -> None:
        if stage not in self._bars:
            self._bars[stage] = self._progress.add_task(stage, total=total)
        self._progress.update(self._bars[stage], completed=done, total=total)


@contextmanager
def bars() -> Iterator[jobs.Progress]:
    """Bars on a terminal, silence elsewhere."""
    if not sys.stderr.isatty():
        yield jobs.silent
        return
    with Progress(console=Console(stderr=True), transient=True) as progress:
        yield Bars(progress)
