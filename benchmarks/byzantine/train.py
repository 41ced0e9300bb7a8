"""Recipe v1 for all volunteers of a round at once."""

from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np
import torch

from benchmarks.byzantine import model
from worker_client.contract.recipe import BETAS, CLIP_NORM, EPS, Schedule
from worker_client.training.rows import row_stream

WEIGHT_DECAY = 0.1  # on matrices of a model from scratch
BATCH = 4
BASE_LR, BASE_STEPS, BASE_BATCH = 1e-2, 60, 16

Pair = tuple[np.ndarray, np.ndarray]


def batches(
    rows: np.ndarray, steps: int, seed: int, round_number: int, shard: int, size: int = BATCH
) -> np.ndarray:
    """The task's rows in the recipe's order, ``[steps, size, seq]``."""
    order = list(islice(row_stream(seed, round_number, shard, len(rows)), steps * size))
    return rows[order].reshape(steps, size, -1)


def train_base(rows: np.ndarray, seed: int) -> np.ndarray:
    """A model that knows the letters and a little English: what the run starts from."""
    data = batches(rows, BASE_STEPS, seed, 0, 0, BASE_BATCH)
    rates = rates_of(Schedule(BASE_LR, 1, BASE_STEPS), 1)
    return train(model.initial_vector(seed), [(data, data)], rates)[0]


def rates_of(schedule: Schedule, round_number: int) -> list[float]:
    return [schedule.at(round_number, step) for step in range(schedule.inner_steps)]


def train(start: np.ndarray, data: Sequence[Pair], rates: Sequence[float]) -> np.ndarray:
    """Train one copy of ``start [PARAMETERS]`` per volunteer; the results, ``[volunteers, ...]``.

    ``data`` holds each volunteer's inputs and targets, int64 ``[steps, batch, seq]``, ``rates``
    the learning rate of each step.
    """
    parts = np.tile(start, (len(data), 1))
    matrices = torch.tensor(parts[:, : model.MATRIX_COUNT], requires_grad=True)
    norms = torch.tensor(parts[:, model.MATRIX_COUNT :], requires_grad=True)
    groups: list[dict[str, Any]] = [
        {"params": [matrices], "weight_decay": WEIGHT_DECAY},
        {"params": [norms], "weight_decay": 0.0},
    ]
    optimiser = torch.optim.AdamW(groups, lr=rates[0], betas=BETAS, eps=EPS)
    rows, targets = (torch.from_numpy(np.stack(part, axis=1)) for part in zip(*data, strict=True))
    for step, rate in enumerate(rates):
        for group in optimiser.param_groups:
            group["lr"] = rate
        optimiser.zero_grad(set_to_none=True)
        losses = model.losses(model.named(matrices, norms), rows[step], targets[step])
        losses.sum().backward()
        _clip(matrices, norms)
        optimiser.step()
    return torch.cat((matrices.detach(), norms.detach()), dim=1).numpy()


def _clip(matrices: torch.Tensor, norms: torch.Tensor) -> None:
    """As ``clip_grad_norm_``, for each volunteer alone."""
    gradients = [part.grad for part in (matrices, norms) if part.grad is not None]
    squared = sum((gradient.square().sum(dim=1) for gradient in gradients), torch.zeros(()))
    factors = (CLIP_NORM / (squared.sqrt() + 1e-6)).clamp(max=1.0)
    for gradient in gradients:
        gradient.mul_(factors[:, None])


@torch.no_grad()
def held_out_loss(vector: np.ndarray, rows: np.ndarray) -> float:
    """Mean nats per byte of one model on ``rows [n, seq]``."""
    given = torch.from_numpy(rows)[None]
    return float(model.losses(model.of_vector(vector), given, given))
