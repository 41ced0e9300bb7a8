"""A tiny Qwen3-shaped language model over bytes, for all volunteers of a round at once.

Ten models of 35,000 weights cost little more than one when every product is a batched one, so
weights carry a leading volunteer axis: ``[volunteers, weights]``. Nothing crosses that axis.
"""

from math import prod

import numpy as np
import torch
from torch.nn import functional

VOCABULARY, HIDDEN, LAYERS, HEADS, KV_HEADS, HEAD, INNER = 256, 32, 2, 2, 1, 16, 96
EPS, THETA = 1e-6, 10_000.0

MATRICES: dict[str, tuple[int, ...]] = {"embed": (VOCABULARY, HIDDEN)}
NORMS: dict[str, tuple[int, ...]] = {"norm": (HIDDEN,)}
for _layer in range(LAYERS):
    MATRICES |= {
        f"{_layer}.qkv": ((HEADS + 2 * KV_HEADS) * HEAD, HIDDEN),
        f"{_layer}.o": (HIDDEN, HEADS * HEAD),
        f"{_layer}.gate_up": (2 * INNER, HIDDEN),
        f"{_layer}.down": (HIDDEN, INNER),
    }
    NORMS |= {
        f"{_layer}.before": (HIDDEN,),
        f"{_layer}.after": (HIDDEN,),
        f"{_layer}.q_norm": (HEAD,),
        f"{_layer}.k_norm": (HEAD,),
    }
MATRIX_COUNT = sum(prod(shape) for shape in MATRICES.values())
NORM_COUNT = sum(prod(shape) for shape in NORMS.values())
PARAMETERS = MATRIX_COUNT + NORM_COUNT

Weights = dict[str, torch.Tensor]


def initial_vector(seed: int) -> np.ndarray:
    """Float32 ``[PARAMETERS]``: matrices normal with deviation 0.02 as Qwen3 has it, norms 1."""
    draw = np.random.default_rng(seed)
    matrices = 0.02 * draw.standard_normal(MATRIX_COUNT, np.float32)
    return np.concatenate([matrices, np.ones(NORM_COUNT, np.float32)])


def named(matrices: torch.Tensor, norms: torch.Tensor) -> Weights:
    """Views ``[volunteers, *shape]`` of the flat ``[volunteers, count]`` tensors."""
    return _named(matrices, MATRICES) | _named(norms, NORMS)


def of_vector(vector: np.ndarray) -> Weights:
    """The weights of one model, ``[PARAMETERS]``, as those of one volunteer."""
    flat = torch.from_numpy(vector)[None]
    return named(flat[:, :MATRIX_COUNT], flat[:, MATRIX_COUNT:])


def _named(flat: torch.Tensor, shapes: dict[str, tuple[int, ...]]) -> Weights:
    parts = flat.split([prod(shape) for shape in shapes.values()], dim=1)
    return {
        name: part.view(-1, *shape)
        for (name, shape), part in zip(shapes.items(), parts, strict=True)
    }


def losses(weights: Weights, rows: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Mean nats per byte of every volunteer, ``[volunteers]``.

    ``rows [volunteers, batch, seq]`` int64; ``targets`` alike, its byte t + 1 is what byte t of
    ``rows`` is to predict; its first byte of each row is not used.
    """
    logits = predict(weights, rows)[:, :, :-1]
    each = functional.cross_entropy(
        logits.reshape(-1, VOCABULARY), targets[:, :, 1:].reshape(-1), reduction="none"
    )
    return each.view(len(rows), -1).mean(dim=1)


def predict(weights: Weights, rows: torch.Tensor) -> torch.Tensor:
    """Logits ``[volunteers, batch, seq, VOCABULARY]``."""
    volunteers, batch, seq = rows.shape
    first = torch.arange(volunteers).view(-1, 1, 1) * VOCABULARY
    table = weights["embed"].reshape(-1, HIDDEN)
    x = functional.embedding(rows + first, table).view(volunteers, batch * seq, HIDDEN)
    turn = rotation(seq)
    for layer in range(LAYERS):
        part = {
            name.split(".")[1]: tensor
            for name, tensor in weights.items()
            if name.startswith(f"{layer}.")
        }
        x = x + _attention(part, _scaled(x, part["before"]), batch, turn)
        x = x + _mlp(part, _scaled(x, part["after"]))
    logits = _linear(_scaled(x, weights["norm"]), weights["embed"])
    return logits.view(volunteers, batch, seq, VOCABULARY)


def rotation(seq: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Cosines and sines of the rotary position embedding, ``[seq, HEAD]``."""
    speeds = THETA ** (-torch.arange(0, HEAD, 2) / HEAD)
    angles = torch.outer(torch.arange(seq), speeds).repeat(1, 2)
    return angles.cos(), angles.sin()


def future(seq: int) -> torch.Tensor:
    """What keeps a byte from seeing later ones, ``[seq, seq]``: minus infinity above 0."""
    return torch.full((seq, seq), float("-inf")).triu(1)


def _attention(
    part: Weights, x: torch.Tensor, batch: int, turn: tuple[torch.Tensor, torch.Tensor]
) -> torch.Tensor:
    volunteers, tokens, _ = x.shape
    seen = _linear(x, part["qkv"]).view(volunteers, tokens, -1, HEAD)
    q, k, v = seen.split((HEADS, KV_HEADS, KV_HEADS), dim=2)
    q = _turned(_heads(_scaled(q, part["q_norm"]), batch), turn)
    k = _turned(_heads(_scaled(k, part["k_norm"]), batch), turn)
    scores = q @ k.transpose(-1, -2) * HEAD**-0.5 + future(q.shape[-2])
    mixed = (scores.softmax(dim=-1) @ _heads(v, batch)).transpose(1, 2)
    return _linear(mixed.reshape(volunteers, tokens, HEADS * HEAD), part["o"])


def _heads(x: torch.Tensor, batch: int) -> torch.Tensor:
    """``[volunteers, batch * seq, heads, HEAD]`` to ``[volunteers * batch, heads, seq, HEAD]``."""
    return x.reshape(len(x) * batch, -1, x.shape[2], HEAD).transpose(1, 2)


def _turned(x: torch.Tensor, turn: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
    cos, sin = turn
    left, right = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-right, left), dim=-1) * sin


def _mlp(part: Weights, x: torch.Tensor) -> torch.Tensor:
    gate, up = _linear(x, part["gate_up"]).chunk(2, dim=-1)
    return _linear(functional.silu(gate) * up, part["down"])


def _linear(x: torch.Tensor, matrix: torch.Tensor) -> torch.Tensor:
    return torch.bmm(x, matrix.transpose(1, 2))


def _scaled(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Root-mean-square norm over the last axis of ``[volunteers, ...]``."""
    shape = (len(x), *[1] * (x.dim() - 2), x.shape[-1])
    return functional.rms_norm(x, x.shape[-1:], eps=EPS) * weight.view(shape)
