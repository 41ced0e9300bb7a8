"""The parent's handle on the training child: send commands, take events with a timeout."""

import os
import queue
import subprocess
import sys
import threading
from types import TracebackType
from typing import IO, Self

from pydantic import ValidationError

from worker_client.training.messages import (
    Abandon,
    Evaluate,
    Event,
    Failure,
    Load,
    Prepare,
    Stop,
    Train,
    parse_event,
)

STOP_GRACE_S = 10.0


class TrainingProcess:
    """One child that keeps its model loaded across tasks::

        with TrainingProcess() as child:
            child.send(Load(format="tiny-qwen3-lora-r4"))
            event = child.next_event(timeout=1.0)   # None when nothing came in time

    ``stderr`` goes where Popen's argument says (default: this process's own). A child that
    died gives one ``Failure(code="child_died")`` and then None for ever.
    """

    def __init__(self, stderr: IO[str] | int | None = None) -> None:
        environment = os.environ | {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "worker_client.training.child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            env=environment,
            text=True,
            encoding="utf-8",
        )
        assert self._process.stdin and self._process.stdout  # pipes, as asked
        self._commands, self._lines = self._process.stdin, self._process.stdout
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True, name="training-events").start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def send(self, command: Load | Train | Evaluate | Prepare | Abandon | Stop) -> None:
        """Hand over a command; to a dead child it is lost (an event tells of the death)."""
        try:
            self._commands.write(command.to_line())
            self._commands.flush()
        except (BrokenPipeError, ValueError):
            return

    def next_event(self, timeout: float | None = None) -> Event | None:
        """The next event, or None after ``timeout`` seconds."""
        try:
            return self._events.get(timeout=timeout)
        except queue.Empty:
            return None

    def stop(self, grace_s: float = STOP_GRACE_S) -> None:
        """Ask the child to stop, end its input, and kill it if it has not gone in time."""
        self.send(Stop())
        try:
            self._process.wait(grace_s)
        except subprocess.TimeoutExpired:
            self.kill()
        self._close_pipes()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def _read(self) -> None:
        for line in self._lines:
            self._events.put(self._parse(line))
        status = self._process.wait()
        if status != 0:
            self._events.put(Failure(code="child_died", message=_how_it_died(status)))

    @staticmethod
    def _parse(line: str) -> Event:
        try:
            return parse_event(line)
        except ValidationError:
            return Failure(code="internal", message=f"the training process wrote {line[:200]!r}")

    def _close_pipes(self) -> None:
        try:
            self._commands.close()
        except BrokenPipeError:
            pass


def _how_it_died(status: int) -> str:
    if status == -9:
        return (
            "the training process was killed, most likely because memory ran out; "
            "close other programs, or join a run with a smaller model"
        )
    return f"the training process ended by itself (status {status}); its last lines say why"
