"""Round 1's snapshot, made by the coordinator: the same bytes for the same seed."""

from math import sqrt
from pathlib import Path

import numpy as np
import torch

from worker_client.contract.formats import Format, TensorSpec
from worker_client.training.files import Written, write_adapter


def initial_tensors(fmt: Format, seed: int) -> dict[str, np.ndarray]:
    """A Kaiming-uniform as PEFT draws it, B zero, in manifest order from one generator."""
    generator = torch.Generator("cpu").manual_seed(seed)
    return {spec.name: _draw(spec, generator) for spec in fmt.tensors}


def _draw(spec: TensorSpec, generator: torch.Generator) -> np.ndarray:
    tensor = torch.zeros(spec.shape, dtype=torch.float32)
    if ".lora_A." in spec.name:
        torch.nn.init.kaiming_uniform_(tensor, a=sqrt(5), generator=generator)
    return tensor.numpy()


def write_initial(fmt: Format, seed: int, path: Path) -> Written:
    """Write snapshot 1 to ``path``; its metadata names format and round, and no time."""
    metadata = {"format": "pt", "bicim": fmt.id, "tur": "1"}
    return write_adapter(path, fmt, initial_tensors(fmt, seed), metadata)
