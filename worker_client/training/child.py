"""The training child: ``python -m worker_client.training.child``.

Speaks the line protocol of ``worker_client.training.messages`` on standard input and output.
It sees files and numbers, opens no connection, and keeps its model loaded across tasks.
Whatever a library prints goes to standard error, so that standard output is protocol only.
"""

import os
import queue
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING, TextIO

from pydantic import ValidationError

from worker_client.contract.formats import UnknownFormat, load_format
from worker_client.data.errors import DataError
from worker_client.models.errors import ModelCorrupt, ModelError, TokenizerRefused
from worker_client.models.store import ModelStore
from worker_client.training.errors import Abandoned, TrainingError
from worker_client.training.messages import (
    Abandon,
    Evaluate,
    Failure,
    Line,
    Load,
    Prepare,
    Ready,
    Step,
    Stop,
    Train,
    parse_command,
)
from worker_client.training.messages import Abandoned as AbandonedEvent

if TYPE_CHECKING:
    from worker_client.training.trainee import Trainee


Job = Train | Evaluate | Prepare


class Child:
    """One loaded model and the task in hand.

    A thread reads commands, so that ``abandon`` and ``stop`` are heard between steps.
    """

    def __init__(self, commands: TextIO, events: TextIO) -> None:
        self._commands, self._events = commands, events
        self._waiting: queue.SimpleQueue[Load | Job | Stop] = queue.SimpleQueue()
        self._drop = threading.Event()
        self._loaded: Trainee | None = None

    def serve(self) -> None:
        """Answer commands until ``stop``; the process dies when its input ends."""
        threading.Thread(target=self._listen, daemon=True, name="commands").start()
        while not isinstance(command := self._waiting.get(), Stop):
            try:
                self._answer(command)
            except Exception as error:
                self._tell(_failure(error))

    def _listen(self) -> None:
        for line in self._commands:
            try:
                command = parse_command(line)
            except ValidationError as error:
                self._tell(Failure(code="bad_command", message=str(error)[:2000]))
                continue
            if isinstance(command, Abandon | Stop):
                self._drop.set()
            if isinstance(command, Job):
                self._drop.clear()
            if not isinstance(command, Abandon):
                self._waiting.put(command)
            if isinstance(command, Stop):
                return
        os._exit(1)  # the parent is gone: nobody waits for this task

    def _answer(self, command: Load | Job) -> None:
        if isinstance(command, Load):
            self._load(command)
        else:
            self._work(command)

    def _load(self, command: Load) -> None:
        from worker_client.training.device import choose_device
        from worker_client.training.trainee import make_trainee

        started, self._loaded = time.monotonic(), None
        fmt, store = load_format(command.format), ModelStore(command.models_dir)
        device = choose_device(command.device, command.dtype, command.threads)
        self._loaded = make_trainee(fmt, store, device)
        self._tell(
            Ready(
                format=fmt.id,
                device=device.label,
                dtype=device.dtype_name,
                threads=device.threads,
                seconds=time.monotonic() - started,
            )
        )

    def _work(self, command: Job) -> None:
        try:
            self._tell(self._done(command))
        except Abandoned:
            self._tell(AbandonedEvent(lease_id=command.lease_id))

    def _done(self, command: Job) -> Line:
        """What the command comes to; a text is prepared without torch."""
        if isinstance(command, Prepare):
            from worker_client.training.prepare import prepare_task

            self._check_dropped()
            return prepare_task(command, self._check_dropped)
        from worker_client.evaluation.task import score_task
        from worker_client.training.task import train_task

        if self._loaded is None:
            raise TrainingError("no model is loaded: send load first")
        self._check_dropped()
        if isinstance(command, Train):
            return train_task(self._loaded, command, self._on_step)
        return score_task(self._loaded, command, self._on_step)

    def _on_step(self, step: Step) -> None:
        self._tell(step)
        self._check_dropped()

    def _check_dropped(self) -> None:
        if self._drop.is_set():
            raise Abandoned

    def _tell(self, event: Line) -> None:
        self._events.write(event.to_line())
        self._events.flush()


def _failure(error: Exception) -> Failure:
    if isinstance(error, TrainingError | DataError):
        return Failure(code=error.code, message=str(error))
    if isinstance(error, TokenizerRefused):
        return Failure(code="tokenizer_refused", message=str(error))
    if isinstance(error, ModelError | UnknownFormat):
        code = "model_corrupt" if isinstance(error, ModelCorrupt) else "model_missing"
        return Failure(code=code, message=str(error))
    sys.excepthook(type(error), error, error.__traceback__)
    return Failure(code="internal", message=f"{type(error).__name__}: {error}"[:2000])


def _forbid_connections(event: str, _arguments: tuple) -> None:
    if event == "socket.connect":
        raise PermissionError("the training process opens no connection")


def main() -> None:
    os.environ["HF_HUB_OFFLINE"] = "1"
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.addaudithook(_forbid_connections)
    events = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # also what native code prints
    commands = os.fdopen(os.dup(0), "r", encoding="utf-8")
    Child(commands, events).serve()


if __name__ == "__main__":
    main()
