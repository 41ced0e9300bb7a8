"""Where a test is, on standard error: a bar on a terminal, else a line for each failure."""

import sys
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars

from worker_client.conformance.check import Check, Outcome, Result


class Progress:
    """Shown while entered."""

    def __init__(self, total: int) -> None:
        self._bars = Bars(
            TextColumn("{task.description:<24}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
            disable=not sys.stderr.isatty(),
        )
        self._task = self._bars.add_task("starting", total=total)

    def __enter__(self) -> "Progress":
        self._bars.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._bars.stop()

    def say(self, text: str) -> None:
        """A line for a person, above the bar."""
        self._bars.console.print(text, soft_wrap=True, highlight=False, markup=False)

    def begins(self, check: Check) -> None:
        self._bars.update(self._task, description=check.id)

    def ended(self, outcome: Outcome) -> None:
        self._bars.advance(self._task)
        if outcome.result is Result.FAILED and self._bars.disable:
            print(f"failed: {outcome.check.id}", file=sys.stderr, flush=True)
