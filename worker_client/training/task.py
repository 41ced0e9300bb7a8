"""The recipe's loop: from a snapshot and a shard to a result file."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from math import isfinite
from pathlib import Path

import torch
from torch.nn.utils import clip_grad_norm_

from worker_client.contract.encodings import CODECS
from worker_client.contract.recipe import CLIP_NORM, Schedule
from worker_client.contract.wire import RAW_ENCODING
from worker_client.data.shard import open_shard
from worker_client.training.deltas import write_delta
from worker_client.training.errors import NotFinite, OutOfMemory
from worker_client.training.files import Written, write_weights
from worker_client.training.loss import count_targets, summed_loss
from worker_client.training.messages import Done, Step, Train
from worker_client.training.optimiser import make_optimisers, set_lr
from worker_client.training.rows import row_stream
from worker_client.training.trainee import Trainee
from worker_client.version import VERSION

# Beyond this a CPU gains nothing from wider products, and activations cost megabytes a token.
CPU_MICRO_TOKENS = 512


@dataclass
class MicroBatches:
    """Gradients of one step, ``size`` sequences at a time; halves ``size`` when memory ends.

    The loss stays the sum over all of the step's targets divided by their count, so ``size``
    changes the result by rounding only.
    """

    size: int
    trainee: Trainee

    def accumulate(self, input_ids: torch.Tensor, labels: torch.Tensor) -> float:
        """Leave the gradients in the parameters; return the mean loss in nats per token.

        Raises:
            OutOfMemory: one sequence alone is too much.
        """
        while True:
            try:
                return self._attempt(input_ids, labels)
            except torch.OutOfMemoryError as error:
                self._halve(error)
                self.trainee.clear_gradients()

    def _attempt(self, input_ids: torch.Tensor, labels: torch.Tensor) -> float:
        count, total = max(1, count_targets(labels)), 0.0
        for rows in torch.arange(len(input_ids)).split(self.size):
            part = summed_loss(self.trainee, input_ids[rows], labels[rows]) / count
            part.backward()
            total += part.item()
        return total

    def _halve(self, error: torch.OutOfMemoryError) -> None:
        if self.size == 1:
            raise OutOfMemory(
                "one sequence alone does not fit into this GPU's memory; close what else uses "
                "it, or train with --device cpu"
            ) from error
        self.size //= 2
        torch.cuda.empty_cache()


@dataclass
class Tally:
    losses: list[float] = field(default_factory=list)
    tokens: int = 0
    started: float = field(default_factory=time.monotonic)

    def add(self, loss: float, tokens: int, steps: int) -> Step:
        self.losses.append(loss)
        self.tokens += tokens
        speed = self.tokens / max(1e-9, self.seconds)
        return Step(step=len(self.losses), steps=steps, loss=loss, tokens_per_s=speed)

    @property
    def mean(self) -> float:
        return sum(self.losses) / len(self.losses)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.started


def train_task(trainee: Trainee, task: Train, on_step: Callable[[Step], None]) -> Done:
    """Train one task and write its result; ``on_step`` may raise to end it between two steps.

    Raises:
        SnapshotRefused, DataError: an input file is not what the task says.
        NotFinite, OutOfMemory: training cannot go on.
    """
    shard = open_shard(
        Path(task.data), trainee.format, task.seq_len, task.mode, task.tokenizer_sha256
    )
    trainee.load(Path(task.snapshot))
    parameters, place = list(trainee.parameters.values()), trainee.device.place
    optimisers = make_optimisers(trainee, task.recipe)
    schedule = Schedule(task.lr, task.rounds, task.inner_steps, task.recipe)
    rows = row_stream(task.seed, task.round, task.shard, shard.rows)
    micro, tally = MicroBatches(_first_size(task, place), trainee), Tally()
    for step in range(task.inner_steps):
        batch = shard.batch(list(islice(rows, task.batch_size)))
        input_ids, labels = (torch.from_numpy(part).to(place) for part in batch)
        set_lr(optimisers, schedule.at(task.round, step))
        trainee.clear_gradients()
        loss = micro.accumulate(input_ids, labels)
        norm = clip_grad_norm_(parameters, CLIP_NORM)
        _check_finite(loss, float(norm), step)
        for optimiser in optimisers:
            optimiser.step()
        on_step(tally.add(loss, count_targets(labels), task.inner_steps))
    return _write(trainee, task, tally)


def _first_size(task: Train, place: torch.device) -> int:
    if place.type == "cpu":
        return min(task.batch_size, max(1, CPU_MICRO_TOKENS // task.seq_len))
    return task.batch_size


def _check_finite(loss: float, norm: float, step: int) -> None:
    if not (isfinite(loss) and isfinite(norm)):
        raise NotFinite(
            f"the loss became {loss} and the gradient's norm {norm} in step {step + 1}; the task "
            "is dropped. Should it happen again, tell the run's operator that its learning rate is "
            "too high"
        )


def _write(trainee: Trainee, task: Train, tally: Tally) -> Done:
    device = trainee.device
    metadata = {
        "gorev": task.lease_id,
        "tur": str(task.round),
        "kayip_ilk": f"{tally.losses[0]:.6f}",
        "kayip_son": f"{tally.losses[-1]:.6f}",
        "kayip": f"{tally.mean:.6f}",
        "token": str(tally.tokens),
        "sure_s": f"{tally.seconds:.3f}",
        "cihaz": device.label,
        "dtype": device.dtype_name,
        "surum": VERSION,
    }
    seconds = tally.seconds
    file = _seal(trainee, task, metadata)
    return Done(
        lease_id=task.lease_id,
        path=str(file.path),
        sha256=file.sha256,
        size=file.size,
        loss_first=tally.losses[0],
        loss_last=tally.losses[-1],
        loss_mean=tally.mean,
        tokens=tally.tokens,
        seconds=seconds,
        device=device.label,
        dtype=device.dtype_name,
    )


def _seal(trainee: Trainee, task: Train, metadata: dict[str, str]) -> Written:
    out, fmt, trained = Path(task.out), trainee.format, trainee.tensors()
    if task.encoding == RAW_ENCODING:
        return write_weights(out, fmt, trained, metadata)
    residual = Path(task.residual) if task.residual else None
    codec = CODECS[task.encoding]
    return write_delta(out, fmt, codec, Path(task.snapshot), trained, metadata, residual)
