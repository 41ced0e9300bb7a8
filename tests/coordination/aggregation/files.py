"""Result files for tests: well-formed ones in any order, and parts to break them with."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from coordination.aggregation.vectors import VectorFile
from worker_client.contract.formats import Format
from worker_client.contract.tensors import build_header

Tensors = dict[str, np.ndarray]
DTYPE_NAMES = {"float32": "F32", "float16": "F16", "int32": "I32"}


def split(vector: np.ndarray, fmt: Format) -> Tensors:
    """Cut a vector in manifest order into the format's tensors (views)."""
    ends = np.cumsum([spec.count for spec in fmt.tensors])
    parts = np.split(vector, ends[:-1])
    return {
        spec.name: part.reshape(spec.shape) for spec, part in zip(fmt.tensors, parts, strict=True)
    }


def shuffled(tensors: Tensors, seed: int) -> Tensors:
    names = np.random.default_rng(seed).permutation(list(tensors))
    return {str(name): tensors[str(name)] for name in names}


def file_bytes(tensors: Tensors, metadata: dict[str, str] | None = None) -> bytes:
    """A safetensors file whose data lies in the order of ``tensors``."""
    specs = [(name, DTYPE_NAMES[str(t.dtype)], t.shape) for name, t in tensors.items()]
    return build_header(specs, metadata) + b"".join(t.tobytes() for t in tensors.values())


def vector_file(path: Path, values: np.ndarray | Sequence[float], offset: int = 0) -> VectorFile:
    """Write ``values`` as float32 behind ``offset`` bytes of something else."""
    raw = np.asarray(values, "<f4")
    path.write_bytes(b"\xff" * offset + raw.tobytes())
    return VectorFile(path, offset, raw.size)
