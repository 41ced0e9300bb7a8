"""One cell in this process: the worker's training and the coordinator's merge, on files."""

import hashlib
import time
from collections.abc import Callable
from pathlib import Path

from modelen_site.experiments.cells import Cell, Outcome, Point, exchanged
from modelen_site.experiments.coordinator import FileCoordinator
from modelen_site.experiments.judge import Judge
from modelen_site.experiments.plan import Plan
from modelen_site.experiments.texts import Texts
from worker_client.contract.formats import load_format
from worker_client.contract.recipe import largest_update_norm
from worker_client.contract.wire import RAW_ENCODING
from worker_client.models.store import ModelStore
from worker_client.training.deltas import left_path
from worker_client.training.device import choose_device
from worker_client.training.errors import NotFinite
from worker_client.training.files import write_weights
from worker_client.training.initial import write_initial
from worker_client.training.messages import Done, Step, Train
from worker_client.training.task import train_task
from worker_client.training.trainee import make_trainee

Ticked = Callable[[int], object]


class Simulation:
    """``folder`` is empty; ``tick`` hears of every step, in steps of ``plan.batch_size`` sequences.

    One thread trains, as a worker with ``--threads 1`` does: then the bytes are the same again.
    """

    def __init__(self, plan: Plan, cell: Cell, texts: Texts, folder: Path, tick: Ticked) -> None:
        self.plan, self.cell, self.folder, self.tick = plan, cell, folder, tick
        self.setting, self.work = cell.setting, plan.work(cell.setting)
        self.format = load_format(plan.format)
        self.device = choose_device("cpu", threads=1)
        self.trainee = make_trainee(self.format, ModelStore(), self.device)
        self.judge = Judge(plan, texts)
        self.shards = texts.shards(self.work.workers, self.setting.division)
        self.points: list[Point] = []
        self.up = self.down = 0

    def run(self) -> Outcome:
        started = time.monotonic()
        first = self.folder / "snapshot-1.safetensors"
        first_bytes = write_initial(self.format, self.cell.seed, first).size
        limit = largest_update_norm(self.cell.lr, self.work.steps, self.format.parameters)
        coordinator = FileCoordinator(self.folder, self.format, self.setting, limit, first)
        self._measure(0, 0, first)
        validation, failure = None, ""
        try:
            for number in range(1, self.work.rounds + 1):
                self._round(number, coordinator)
            validation = self.judge.validate(coordinator.snapshot)
        except NotFinite as error:
            failure = str(error)
        return Outcome(
            cell=self.cell,
            how="simulation",
            validation=validation,
            points=self.points,
            shard_bytes=sum(path.stat().st_size for path in self.shards),
            first_bytes=first_bytes * self.work.workers,
            digest=hashlib.sha256(coordinator.snapshot.read_bytes()).hexdigest(),
            seconds=time.monotonic() - started,
            device=self.device.label,
            dtype=self.device.dtype_name,
            failure=failure,
        )

    def _round(self, number: int, coordinator: FileCoordinator) -> None:
        work = self.work
        if number > 1:
            self.down += coordinator.update_bytes * work.workers
        for client in range(work.workers):
            done = self._train(number, client, coordinator.snapshot)
            self.up += done.size
            coordinator.receive(Path(done.path))
            Path(done.path).unlink()
            self._keep_residual(Path(done.path), client)
        coordinator.publish()
        if is_due(number, work.rounds, self.plan.points):
            self._measure(number, number * work.steps, coordinator.snapshot)

    def _train(self, number: int, client: int, snapshot: Path) -> Done:
        plan, work = self.plan, self.work
        task = Train(
            lease_id=self.cell.key,
            round=number,
            rounds=work.rounds,
            inner_steps=work.steps,
            batch_size=work.batch_size,
            seq_len=plan.seq_len,
            recipe=plan.recipe,
            lr=self.cell.lr,
            seed=self.cell.seed,
            shard=client,
            mode="cpt",
            encoding=self.setting.up,
            residual=str(self._residual(client)),
            snapshot=str(snapshot),
            data=str(self.shards[client]),
            out=str(self.folder / f"result-{client}.safetensors"),
        )
        return train_task(self.trainee, task, self._on_step)

    def _on_step(self, step: Step) -> None:
        self.tick(self.work.batch_size // self.plan.batch_size)
        if self.work.rounds == 1 and self._is_due_within(step.step, step.steps):
            path = self.folder / "within.safetensors"
            write_weights(path, self.format, self.trainee.tensors(), {})
            self._measure(0, step.step, path)

    def _is_due_within(self, step: int, steps: int) -> bool:
        """A round that is the whole run is looked into as well."""
        return step < steps and is_due(step, steps, self.plan.points)

    def _measure(self, number: int, steps: int, snapshot: Path) -> None:
        """``steps`` of each client are done."""
        work, (loss, by_language) = self.work, self.judge.test(snapshot)
        tokens = steps * work.batch_size * work.workers * self.plan.seq_len
        files = self.up, self.down
        up, down = exchanged(self.setting, self.format.data_bytes, steps, files)
        self.points.append(
            Point(round=number, tokens=tokens, up=up, down=down, loss=loss, by_language=by_language)
        )

    def _residual(self, client: int) -> Path:
        return self.folder / f"residual-{client}.f32"

    def _keep_residual(self, result: Path, client: int) -> None:
        if self.setting.up != RAW_ENCODING and left_path(result).exists():
            left_path(result).replace(self._residual(client))


def is_due(done: int, total: int, points: int) -> bool:
    """Whether ``done`` of ``total`` is among ``points`` stations as far apart as can be."""
    return done * points // total > (done - 1) * points // total
