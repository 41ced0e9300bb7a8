"""Three ways to show events: a live terminal, plain lines, JSON lines."""

import dataclasses
import json
import sys
from datetime import UTC, datetime
from typing import Protocol, TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from worker_client.display.events import Error, Event, Step, size

PLAIN_STEP_LINES = 10


class Display(Protocol):
    def show(self, event: Event) -> None: ...

    def transfer(self, what: str, done: int, total: int) -> None:
        """``done`` of ``total`` bytes of ``what`` are over."""

    def close(self) -> None: ...


def open_display(as_json: bool, out: TextIO | None = None) -> Display:
    """The display for an output: JSON if asked for, live bars on a terminal, else lines."""
    stream = out or sys.stdout
    if as_json:
        return JsonLines(stream)
    return Terminal() if stream.isatty() else PlainLines(stream)


def clean(text: str) -> str:
    """Text without control characters: a coordinator's words must not drive the terminal."""
    return "".join(c if c.isprintable() else " " for c in text)


def _line(event: Event) -> str:
    mark = "ERROR: " if isinstance(event, Error) and event.fatal else ""
    return f"{datetime.now():%H:%M:%S}  {mark}{clean(event.text())}"


class JsonLines:
    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def show(self, event: Event) -> None:
        head = {"event": event.name, "time": datetime.now(UTC).isoformat(timespec="milliseconds")}
        print(json.dumps(head | dataclasses.asdict(event)), file=self._stream, flush=True)

    def transfer(self, what: str, done: int, total: int) -> None:
        """Not told: ``downloaded`` and ``uploaded`` carry the sums."""

    def close(self) -> None:
        self._stream.flush()


class PlainLines:
    """For log files: one line per event, about ten of a task's steps."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def show(self, event: Event) -> None:
        if not isinstance(event, Step) or self._worth_a_line(event):
            print(_line(event), file=self._stream, flush=True)

    def transfer(self, what: str, done: int, total: int) -> None:
        """Not told: a line follows when it is over."""

    def close(self) -> None:
        self._stream.flush()

    @staticmethod
    def _worth_a_line(step: Step) -> bool:
        every = max(1, step.steps // PLAIN_STEP_LINES)
        return step.step == 1 or step.step == step.steps or step.step % every == 0


class Terminal:
    """Lines that stay, and below them one bar for what is going on now."""

    def __init__(self, console: Console | None = None) -> None:
        self._progress = Progress(
            TextColumn("{task.description:<9}"),
            BarColumn(),
            TextColumn("{task.fields[note]}"),
            TimeRemainingColumn(),
            console=console,
            transient=True,
        )
        self._bar: TaskID | None = None
        self._what = ""
        self._progress.start()

    def show(self, event: Event) -> None:
        if isinstance(event, Step):
            note = (
                f"{event.step}/{event.steps}  loss {event.loss:.4f}  {event.tokens_per_s:.0f} tok/s"
            )
            self._move("training", event.step, event.steps, note)
            return
        self._drop()
        self._progress.console.print(_line(event), markup=False, highlight=False)

    def transfer(self, what: str, done: int, total: int) -> None:
        self._move(what, done, total, f"{size(done)} of {size(total)}")

    def close(self) -> None:
        self._drop()
        self._progress.stop()

    def _move(self, what: str, done: int, total: int, note: str) -> None:
        if self._bar is None or self._what != what:
            self._drop()
            self._what = what
            self._bar = self._progress.add_task(what, total=total, note=note)
        self._progress.update(self._bar, completed=done, total=total, note=note)

    def _drop(self) -> None:
        if self._bar is not None:
            self._progress.remove_task(self._bar)
            self._bar = None
