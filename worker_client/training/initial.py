"""Round 1's snapshot, made by the coordinator: the same bytes for the same seed."""

from collections.abc import Mapping
from math import sqrt
from pathlib import Path

import numpy as np
import torch

from worker_client.contract.formats import Format, ScratchFormat, TensorSpec
from worker_client.training.files import Written, read_weights, write_weights

DEVIATION = 0.02


def initial_tensors(fmt: Format, seed: int) -> dict[str, np.ndarray]:
    """Every tensor in manifest order from one generator.

    Adapters: A Kaiming-uniform as PEFT draws it, B zero. Models from scratch: normal with
    deviation 0.02, that of matrices which write into the residual stream divided by the root of
    how many there are (GPT-2); norms are 1.
    """
    generator = torch.Generator("cpu").manual_seed(seed)
    if isinstance(fmt, ScratchFormat):
        writers = 2 * fmt.decoder.layers
        return {spec.name: _draw_weights(spec, writers, generator) for spec in fmt.tensors}
    return {spec.name: _draw_adapter(spec, generator) for spec in fmt.tensors}


def _draw_weights(spec: TensorSpec, writers: int, generator: torch.Generator) -> np.ndarray:
    if len(spec.shape) == 1:
        return np.ones(spec.shape, "<f4")
    writes = spec.name.endswith(("o_proj.weight", "down_proj.weight"))
    deviation = DEVIATION / sqrt(writers) if writes else DEVIATION
    return torch.empty(spec.shape).normal_(0.0, deviation, generator=generator).numpy()


def _draw_adapter(spec: TensorSpec, generator: torch.Generator) -> np.ndarray:
    tensor = torch.zeros(spec.shape, dtype=torch.float32)
    if ".lora_A." in spec.name:
        torch.nn.init.kaiming_uniform_(tensor, a=sqrt(5), generator=generator)
    return tensor.numpy()


def write_initial(fmt: Format, seed: int, path: Path) -> Written:
    """Write snapshot 1 to ``path``; its metadata names format and round, and no time."""
    return _write_first(fmt, initial_tensors(fmt, seed), path)


def write_continued(fmt: Format, weights: Path, path: Path) -> Written:
    """Write the values of ``weights``, a snapshot of whatever round and run, as snapshot 1.

    Raises:
        SnapshotRefused: it does not hold the format's tensors, or values are not finite.
    """
    return _write_first(fmt, read_weights(weights, fmt), path)


def _write_first(fmt: Format, tensors: Mapping[str, np.ndarray], path: Path) -> Written:
    return write_weights(path, fmt, tensors, {"format": "pt", "bicim": fmt.id, "tur": "1"})
