"""One task from lease to result file: check, download, train, under a heartbeat."""

import threading
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path

from worker_client.client.download import Download
from worker_client.client.link import Link, Traffic
from worker_client.client.patience import Patience
from worker_client.contract import wire
from worker_client.contract.formats import Format
from worker_client.display import events
from worker_client.display.screens import Display
from worker_client.loop.catch_up import can_catch_up, catch_up
from worker_client.loop.heartbeat import Heartbeat
from worker_client.loop.limits import Limits, check_disk, files_of
from worker_client.loop.trainer import TaskDropped, Trainer
from worker_client.state.folder import CoordinatorState
from worker_client.state.records import FinishedResult, Held
from worker_client.training.messages import Done, Ready, Step, Train

STOPPED = "you asked to stop"
UNWANTED = "the coordinator no longer wants it"


@dataclass
class Totals:
    """Sums since the start, for the last line."""

    traffic: Traffic = field(default_factory=Traffic)
    accepted: int = 0
    refused: int = 0
    steps: int = 0
    tokens: int = 0
    train_s: float = 0.0
    started: float = field(default_factory=time.monotonic)

    def finished(self, reason: str) -> events.Finished:
        return events.Finished(
            reason=reason,
            accepted=self.accepted,
            refused=self.refused,
            steps=self.steps,
            tokens=self.tokens,
            train_s=round(self.train_s, 3),
            bytes_up=self.traffic.up,
            bytes_down=self.traffic.down,
            wall_s=round(time.monotonic() - self.started, 3),
        )


@dataclass(frozen=True)
class Bench:
    """What every part of the loop works with: one coordinator, one person, one child."""

    link: Link
    patience: Patience
    state: CoordinatorState
    trainer: Trainer
    display: Display
    totals: Totals
    limits: Limits
    own_data: Path | None
    told_stop: threading.Event = field(default_factory=threading.Event)

    def tell_stop(self, doing: str) -> None:
        """Say once what still happens before the end."""
        if not self.told_stop.is_set():
            self.told_stop.set()
            self.display.show(events.Stopping(doing))

    @property
    def stopping(self) -> bool:
        return self.patience.stopping

    def beat_for(self, task: wire.Task, *, late: bool = False) -> Heartbeat:
        """A heartbeat with a line of its own: requests' sessions are not for two threads."""
        return Heartbeat(self.link.twin(), task, self.patience.backoff, late)


def show_ready(display: Display, ready: Ready | None) -> None:
    """Tell that the model was loaded, if it was."""
    if ready is not None:
        display.show(events.Ready(ready.device, ready.dtype, ready.threads, ready.seconds))


class Doing(ABC):
    """Makes the result file of one leased task."""

    def __init__(self, bench: Bench, task: wire.Task, fmt: Format, beat: Heartbeat) -> None:
        self._bench, self._task, self._format, self._beat = bench, task, fmt, beat
        self._started = time.monotonic()

    @abstractmethod
    def make(self) -> FinishedResult:
        """Download, compute and return the sealed result.

        Raises:
            TaskDropped: stop asked for, no longer wanted, or over the person's time cap.
            DiskShort, Final, TrainingFailed, TrainerBroken, Stopped: see there.
        """

    def _make_room(self) -> None:
        state, task, limits = self._bench.state, self._task, self._bench.limits
        state.tidy_results()
        wanted = {ref.sha256 for ref in files_of(task)}
        if held := state.load_held():
            wanted.add(held.sha256)
        state.tidy_files(wanted, limits.disk_bytes // 2)
        check_disk(task, self._format, state.folder, state.used_bytes(), limits)

    def _fetch(self, what: str, ref: wire.FileRef, folder: Path | None = None) -> Path:
        def report(done: int, total: int) -> None:
            if not self._beat.wanted:
                raise TaskDropped(UNWANTED)
            self._bench.display.transfer(what, done, total)

        bench = self._bench
        into = folder or bench.state.files
        path = Download(bench.link, bench.patience, into, report).fetch(ref)
        down = bench.totals.traffic.down
        lease_id = self._task.lease_id
        bench.display.show(events.Downloaded(lease_id, what, ref.size, ref.sha256, down))
        return path

    def _step_done(self, step: Step) -> None:
        """Progress as a part of the task's inner steps, which are as many as it has when it
        trains."""
        task = self._task
        self._beat.reached(step.step * task.inner_steps // step.steps, step.loss)
        self._bench.display.show(
            events.Step(
                task.lease_id, task.round, step.step, step.steps, step.loss, step.tokens_per_s
            )
        )

    def _drop_reason(self) -> str | None:
        if self._bench.stopping:
            self._bench.tell_stop("leaving the task at its next step")
            return STOPPED
        if not self._beat.wanted:
            return UNWANTED
        if time.monotonic() - self._started > self._bench.limits.hours * 3600:
            return f"it takes longer than your cap of {self._bench.limits.hours} hours"
        return None


class Training(Doing):
    """Trains the task's shard, or another worker's to check its result."""

    def make(self) -> FinishedResult:
        bench, task, training = self._bench, self._task, self._task.training
        self._make_room()
        show_ready(bench.display, bench.trainer.load(self._format.id))
        snapshot = self._get_snapshot()
        bench.state.save_held(Held(round=task.round, sha256=training.snapshot.sha256))
        data = self._fetch("data", training.data) if training.data else bench.own_data
        out = bench.state.result_path(task.lease_id)
        out.unlink(missing_ok=True)
        residual = str(bench.state.residual)
        command = Train.from_task(
            task, snapshot=str(snapshot), data=str(data), out=str(out), residual=residual
        )
        self._started = time.monotonic()
        done = bench.trainer.train(command, self._step_done, self._drop_reason)
        self._count(done)
        return FinishedResult(
            sha256=done.sha256,
            size=done.size,
            tokens=done.tokens,
            train_s=done.seconds,
            loss=done.loss_mean,
        )

    def _get_snapshot(self) -> Path:
        """By the update of the one before where that is here, else whole."""
        task, files = self._task, self._bench.state.files
        held = self._bench.state.load_held()
        if held is not None and can_catch_up(task, held) and task.delta is not None:
            update = self._fetch("update", task.delta)
            made = catch_up(task, self._format, files / held.sha256, update, files)
            update.unlink()
            if made is not None:
                return made
        return self._fetch("snapshot", task.training.snapshot)

    def _step_done(self, step: Step) -> None:
        self._bench.totals.steps += 1
        super()._step_done(step)

    def _count(self, done: Done) -> None:
        totals, task = self._bench.totals, self._task
        totals.tokens += done.tokens
        totals.train_s += done.seconds
        self._bench.display.show(
            events.Trained(
                lease_id=task.lease_id,
                round=task.round,
                steps=task.inner_steps,
                tokens=done.tokens,
                loss_first=done.loss_first,
                loss_last=done.loss_last,
                loss_mean=done.loss_mean,
                train_s=done.seconds,
                sha256=done.sha256,
            )
        )
