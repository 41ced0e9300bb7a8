"""The recipes' known answers as this worker computes them.

``python -m worker_client.training.known_answers v1 > .../contract/vectors/recipe-v1.json`` made
the committed file once; the loss and the optimiser are plain torch here, which the trainer's own
are then held to. It is not made again unless a recipe is added.
"""

import hashlib
import json
import sys
from itertools import islice

import torch
from torch.nn import functional

from worker_client.contract.formats import load_format
from worker_client.contract.recipe import (
    BETAS,
    CLIP_NORM,
    EMBEDDING_FLOOR,
    EPS,
    WEIGHT_DECAY_SCRATCH,
    Schedule,
    generator_seed,
)
from worker_client.training.initial import initial_tensors
from worker_client.training.rows import row_stream

SEEDED = [(0, 1, 0), (0, 1, 1), (7, 2, 3), (2**53 - 1, 1_000_000, 999_999)]
STREAMS = [(0, 1, 0, 5, 12), (7, 2, 3, 4, 10), (42, 3, 1, 1, 3)]
SCHEDULES = [(1e-3, 3, 8), (2e-4, 100, 20), (5e-4, 1, 1)]
TINY = "tiny-qwen3-lora-r4"


def known_answers(recipe: str) -> dict:
    """Everything in the recipe's file; of ``v2`` what it does otherwise than ``v1``."""
    if recipe == "v2":
        rates = [_schedule(*numbers, recipe) for numbers in SCHEDULES]
        return {"recipe": recipe, "learning_rate": rates, "embedding": _embedding()}
    return {
        "recipe": "v1",
        "generator_seed": [_seed(*numbers) for numbers in SEEDED],
        "rows": [_rows(*numbers) for numbers in STREAMS],
        "learning_rate": [_schedule(*numbers) for numbers in SCHEDULES],
        "cross_entropy": _cross_entropy(),
        "adamw": _adamw(),
        "initial_snapshot": _initial(TINY, 7),
    }


def _seed(seed: int, round_number: int, shard: int) -> dict:
    value = generator_seed(seed, round_number, shard)
    return {"tohum": seed, "tur": round_number, "parca": shard, "seed": value}


def _rows(seed: int, round_number: int, shard: int, rows: int, taken: int) -> dict:
    stream = list(islice(row_stream(seed, round_number, shard, rows), taken))
    return {"tohum": seed, "tur": round_number, "parca": shard, "n": rows, "stream": stream}


def _schedule(lr: float, rounds: int, inner_steps: int, recipe: str = "v1") -> dict:
    schedule, last = Schedule(lr, rounds, inner_steps, recipe), (rounds, inner_steps - 1)
    places = sorted({(1, 0), (1, inner_steps // 2), (1 + rounds // 2, 0), last})
    points = [{"tur": r, "adim": i, "lr": schedule.at(r, i)} for r, i in places]
    return {"lr": lr, "tur_sayisi": rounds, "ic_adim": inner_steps, "points": points}


def _cross_entropy() -> dict:
    """Two rows of four positions over five tokens; sixteenths, so that inputs are exact."""
    logits = (torch.arange(2 * 4 * 5) * 7 % 40 - 20).reshape(2, 4, 5) / 16
    labels = torch.tensor([[0, 3, 1, 4], [2, -100, 0, -100]])
    predicted, targets = logits[:, :-1].reshape(-1, 5), labels[:, 1:].reshape(-1)
    total = functional.cross_entropy(predicted.double(), targets, reduction="sum")
    count = int((targets != -100).sum())
    return {
        "logits": logits.tolist(),
        "labels": labels.tolist(),
        "count": count,
        "sum": total.item(),
        "loss": total.item() / count,
    }


def _adamw() -> dict:
    """Three steps on four numbers; the first gradient is clipped, the others are not."""
    start, rates = [0.5, -1.0, 2.0, 0.0], [1e-3, 8e-4, 5e-4]
    gradients = [[3.0, -4.0, 0.0, 12.0], [0.25, 0.5, -0.125, 0.0], [-0.5, 0.25, 0.5, 0.0625]]
    value = torch.tensor(start, requires_grad=True)
    optimiser = torch.optim.AdamW([value], betas=BETAS, eps=EPS, weight_decay=0.0)
    after = []
    for rate, gradient in zip(rates, gradients, strict=True):
        value.grad, optimiser.param_groups[0]["lr"] = torch.tensor(gradient), rate
        torch.nn.utils.clip_grad_norm_([value], CLIP_NORM)
        optimiser.step()
        after.append(value.tolist())
    return {"start": start, "lr": rates, "gradients": gradients, "after": after}


def _embedding() -> dict:
    """Four steps on three tokens of two numbers. The last token is absent from all of them: its
    gradients are tiny and point one way. The second comes once."""
    start, rates = [[0.5, -1.0], [2.0, 0.25], [-0.5, 1.0]], [1e-3, 1e-3, 8e-4, 5e-4]
    absent, tiny = [0.0, 2.0**-12], [2.0**-10, -(2.0**-11)]
    gradients = [
        [[0.25, -0.5], absent, tiny], [[0.125, 0.25], [0.5, 0.25], tiny],
        [[-0.25, 0.125], absent, tiny], [[0.5, 0.0], absent, tiny],
    ]  # fmt: skip
    value = torch.tensor(start, dtype=torch.float64)
    first, second, after = torch.zeros_like(value), torch.zeros_like(value), []
    for step, (rate, gradient) in enumerate(zip(rates, gradients, strict=True), 1):
        g = torch.tensor(gradient, dtype=torch.float64)
        first = BETAS[0] * first + (1 - BETAS[0]) * g
        second = BETAS[1] * second + (1 - BETAS[1]) * g**2
        floored = torch.maximum(second, EMBEDDING_FLOOR * second.mean())
        root = (floored / (1 - BETAS[1] ** step)).sqrt() + EPS
        value = value * (1 - rate * WEIGHT_DECAY_SCRATCH)
        value = value - rate * (first / (1 - BETAS[0] ** step)) / root
        after.append(value.tolist())
    return {"start": start, "lr": rates, "gradients": gradients, "after": after}


def _initial(format_id: str, seed: int) -> dict:
    tensors = initial_tensors(load_format(format_id), seed)
    vector = b"".join(values.astype("<f4").tobytes() for values in tensors.values())
    first = next(iter(tensors.values())).ravel()[:4].tolist()
    return {
        "bicim": format_id,
        "tohum": seed,
        "first_values": first,
        "sha256": hashlib.sha256(vector).hexdigest(),
    }


if __name__ == "__main__":
    print(json.dumps(known_answers(sys.argv[1]), indent=1))
