"""One child that trains and scores, kept alive across tasks and replaced when it dies."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from worker_client.training.messages import (
    Abandon,
    Abandoned,
    Done,
    Evaluate,
    Event,
    Failure,
    Load,
    Prepare,
    Prepared,
    Ready,
    Scored,
    Step,
    Train,
)
from worker_client.training.process import TrainingProcess

POLL_S = 0.1
MAX_DEATHS = 3
ABANDON_GRACE_S = 600.0  # a step may take minutes on a slow computer; then the child hangs


class TrainingFailed(Exception):
    """The child could not do it. ``code`` is one of ``Failure``'s; it may be there still."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.code = failure.code


class TrainerBroken(Exception):
    """No training is possible on this computer as it is; the message says what to do."""


class TaskDropped(Exception):
    """The task was abandoned between two steps, for the reason given."""


@dataclass(frozen=True)
class TrainerSettings:
    models_dir: str | None = None
    device: str = "auto"
    threads: int | None = None


class Trainer:
    """Loads a format's model once and trains task after task with it."""

    def __init__(
        self, settings: TrainerSettings, log: Path, check_stop: Callable[[], None]
    ) -> None:
        self._settings, self._log_path = settings, log
        self._check_stop = check_stop
        self._child: TrainingProcess | None = None
        self._log: IO[str] | None = None
        self._format = ""
        self._deaths = 0

    def load(self, format_id: str) -> Ready | None:
        """Have the model loaded; None if it is already.

        Raises:
            TrainerBroken: model or device missing, or the child keeps dying.
            Stopped: on a stop while loading.
        """
        if self._child is not None and self._format == format_id:
            return None
        child = self._child or self._start()
        settings = self._settings
        child.send(
            Load(
                format=format_id,
                models_dir=settings.models_dir,
                device=settings.device,
                threads=settings.threads,
            )
        )
        while not isinstance(event := self._next(), Ready):
            self._check_stop()
            if isinstance(event, Failure):
                self._load_failed(event)
                return self.load(format_id)
        self._format = format_id
        return event

    def train(
        self,
        command: Train,
        on_step: Callable[[Step], None],
        drop_reason: Callable[[], str | None],
    ) -> Done:
        """Train one task; ``drop_reason`` is asked all the time and ends it before a next step.

        Raises:
            TaskDropped: for that reason.
            TrainingFailed: the child refused, failed, or died (it is loaded again at need).
            TrainerBroken: it died ``MAX_DEATHS`` times in a row.
        """
        done = self._work(command, on_step, drop_reason)
        assert isinstance(done, Done), "what was not trained raises"
        return done

    def evaluate(
        self,
        command: Evaluate,
        on_step: Callable[[Step], None],
        drop_reason: Callable[[], str | None],
    ) -> Scored:
        """Score one task's candidates; otherwise as ``train``."""
        scored = self._work(command, on_step, drop_reason)
        assert isinstance(scored, Scored), "what was not scored raises"
        return scored

    def prepare(self, command: Prepare, drop_reason: Callable[[], str | None]) -> Prepared:
        """Make rows of a text, without a model; otherwise as ``train``."""
        if self._child is None:
            self._start()
        prepared = self._work(command, lambda step: None, drop_reason)
        assert isinstance(prepared, Prepared), "what was not prepared raises"
        return prepared

    def _work(
        self,
        command: Train | Evaluate | Prepare,
        on_step: Callable[[Step], None],
        drop_reason: Callable[[], str | None],
    ) -> Done | Scored | Prepared:
        assert self._child is not None, "load() comes first"
        self._child.send(command)
        reason, patience_ends = None, float("inf")
        while True:
            event = self._next()
            if isinstance(event, Step):
                on_step(event)
            elif isinstance(event, Done | Scored | Prepared):
                self._deaths = 0
                return event
            elif isinstance(event, Abandoned):
                raise TaskDropped(reason or "the training process dropped it")
            elif isinstance(event, Failure):
                self._fail(event)
            if reason is None and (reason := drop_reason()):
                self._child.send(Abandon())
                patience_ends = time.monotonic() + ABANDON_GRACE_S
            if time.monotonic() > patience_ends:
                self._child.kill()

    def close(self) -> None:
        if self._child is not None:
            self._child.stop(grace_s=0)  # it holds nothing that the disk does not
            self._child = None
        if self._log is not None:
            self._log.close()
            self._log = None

    def _start(self) -> TrainingProcess:
        self._log = self._log_path.open("w", encoding="utf-8")
        self._child = TrainingProcess(stderr=self._log)
        return self._child

    def _next(self) -> Event | None:
        """The next event; a child that is gone without a word counts as died."""
        assert self._child is not None
        alive = self._child.alive
        event = self._child.next_event(timeout=POLL_S)
        if event is None and not alive:
            return Failure(code="child_died", message="the training process is gone")
        return event

    def _load_failed(self, failure: Failure) -> None:
        if failure.code != "child_died":
            raise TrainerBroken(failure.message)
        self._bury(failure)

    def _fail(self, failure: Failure) -> None:
        if failure.code == "child_died":
            self._bury(failure)
        raise TrainingFailed(failure)

    def _bury(self, failure: Failure) -> None:
        self.close()
        self._format = ""
        self._deaths += 1
        if self._deaths >= MAX_DEATHS:
            raise TrainerBroken(
                f"the training process died {self._deaths} times in a row: {failure.message}; "
                f"its own words are in {self._log_path}: {self._last_words()}"
            )

    def _last_words(self) -> str:
        lines = self._log_path.read_text("utf-8", errors="replace").strip().splitlines()
        return lines[-1][:300] if lines else "(none)"
