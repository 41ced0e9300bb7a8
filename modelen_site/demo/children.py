"""The processes that the demo starts, none of which outlives it."""

import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Self

from modelen_site.demo.places import PROJECT
from modelen_site.demo.plan import DemoFailed

# A worker leaves its training at the next step.
STOP_S = 10.0


@dataclass(frozen=True)
class Child:
    """``python ARGUMENTS`` with its words in ``log``."""

    name: str
    process: subprocess.Popen[str]
    log: Path

    @property
    def ended(self) -> bool:
        """Whether it has ended well.

        Raises:
            DemoFailed: it has ended otherwise.
        """
        status = self.process.poll()
        if status:
            raise DemoFailed(f"{self.name} ended with status {status}: {self.last_words()}")
        return status == 0

    def demand_running(self) -> None:
        """Raises DemoFailed: it has ended, well or not."""
        if self.ended:
            raise DemoFailed(f"{self.name} ended before the demo: {self.last_words()}")

    def last_words(self) -> str:
        lines = self.log.read_text("utf-8", errors="replace").strip().splitlines()
        return f"{lines[-1] if lines else 'it said nothing'} (see {self.log})"


class Children:
    """A block at whose end all of them are stopped. ``environment``: None for this process's."""

    def __init__(self, logs: Path, environment: Mapping[str, str] | None = None) -> None:
        self._logs, self._environment = logs, environment
        self._running: list[Child] = []

    def start(self, name: str, *arguments: str, stdout: int | None = None) -> Child:
        """Start ``python ARGUMENTS``; what it prints goes to a log, or to a pipe if so asked."""
        log = self._logs / f"{name}.log"
        with log.open("w", encoding="utf-8") as file:
            process = subprocess.Popen(
                [sys.executable, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=file if stdout is None else stdout,
                stderr=file,
                cwd=PROJECT,
                # Else what it printed comes after its complaint and is taken for the reason.
                env={**(self._environment or os.environ), "PYTHONUNBUFFERED": "1"},
                text=True,
                # Ctrl-C is for the demo, which then stops them in order.
                start_new_session=True,
            )
        child = Child(name, process, log)
        self._running.append(child)
        return child

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for child in reversed(self._running):
            child.process.terminate()
        deadline = time.monotonic() + STOP_S
        for child in reversed(self._running):
            try:
                child.process.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                child.process.kill()
                child.process.wait()


class Lines:
    """JSON objects that several children print, as they come."""

    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[tuple[str, dict[str, Any]]] = queue.SimpleQueue()
        self._readers: list[threading.Thread] = []

    def follow(self, name: str, stream: IO[str]) -> None:
        reader = threading.Thread(target=self._read, args=(name, stream), daemon=True)
        self._readers.append(reader)
        reader.start()

    def arrived(self, timeout: float) -> Iterator[tuple[str, dict[str, Any]]]:
        """``(name, object)`` of what is there; waits ``timeout`` seconds at most for the first."""
        try:
            yield self._queue.get(timeout=timeout)
            while True:
                yield self._queue.get_nowait()
        except queue.Empty:
            return

    def finish(self) -> None:
        """Wait until the ended children's last lines have been read."""
        for reader in self._readers:
            reader.join()

    def _read(self, name: str, stream: IO[str]) -> None:
        for line in stream:
            self._queue.put((name, json.loads(line)))
