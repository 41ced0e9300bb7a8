"""What the person sees: lines that stay, and on a terminal a bar for what is going on."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from modelen_site.demo import interrupt
from worker_client.models.progress import Progress as Listener


class Screen:
    """Use it as a block; bars exist only inside and only on a terminal."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console(highlight=False, soft_wrap=True)
        self._bars = Progress(
            TextColumn("  {task.description}"),
            BarColumn(),
            TextColumn("{task.fields[note]}"),
            TimeElapsedColumn(),
            console=self.console,
            transient=True,
            disable=not self.console.is_terminal,
        )

    @property
    def is_terminal(self) -> bool:
        return self.console.is_terminal

    def __enter__(self) -> "Screen":
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def say(self, what: RenderableType) -> None:
        self.console.print(what, markup=False) if isinstance(what, str) else self.console.print(
            what
        )

    @contextmanager
    def step(self, title: str) -> Iterator[Listener]:
        """Show a step's progress; say at its end how long it took."""
        interrupt.check()
        started, bar = time.monotonic(), self.bar(title)

        def listen(stage: str, done: int, total: int | None, unit: str) -> None:
            self.move(bar, done, total, stage)

        yield listen
        self._bars.remove_task(bar)
        self.say(f"{title}: {time.monotonic() - started:.1f} s")

    def bar(self, title: str) -> TaskID:
        return self._bars.add_task(title, total=None, note="")

    def move(self, bar: TaskID, done: int, total: int | None, note: str, **more: Any) -> None:
        self._bars.update(bar, completed=done, total=total, note=note, **more)
