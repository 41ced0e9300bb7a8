"""Weights as files: a strict reader and a writer that serialises exactly once."""

import hashlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np

from worker_client.contract.errors import Refused
from worker_client.contract.formats import Format
from worker_client.contract.tensors import Header, build_header, read_header
from worker_client.training.errors import SnapshotRefused


@dataclass(frozen=True)
class Written:
    """A file that lies complete and synced at ``path``."""

    path: Path
    sha256: str
    size: int


def read_weights(path: Path, fmt: Format) -> dict[str, np.ndarray]:
    """Every tensor of the manifest, float32, in manifest order, as views of the mapped file.

    Raises:
        SnapshotRefused: not a safetensors file, or names, shapes, dtypes or values are not
            what the manifest allows.
    """
    try:
        with path.open("rb") as file:
            header = read_header(file, path.stat().st_size)
    except (OSError, Refused) as error:
        raise SnapshotRefused(f"the snapshot {path.name} cannot be read: {error}") from error
    _check_manifest(header, path, fmt)
    data = np.memmap(path, np.uint8, mode="r")
    return {spec.name: _read_tensor(data, header, spec.name) for spec in fmt.tensors}


def _check_manifest(header: Header, path: Path, fmt: Format) -> None:
    expected = {spec.name: spec.shape for spec in fmt.tensors}
    if set(header.tensors) != set(expected):
        odd = sorted(set(header.tensors) ^ set(expected))[0]
        raise SnapshotRefused(f"{path.name} is no {fmt.id}: tensor {odd[:100]!r} is amiss")
    for name, entry in header.tensors.items():
        if entry.dtype != "F32" or entry.shape != expected[name]:
            raise SnapshotRefused(
                f"{path.name} is no {fmt.id}: {name} is {entry.dtype} {list(entry.shape)}, "
                f"not F32 {list(expected[name])}"
            )


def _read_tensor(data: np.ndarray, header: Header, name: str) -> np.ndarray:
    entry = header.tensors[name]
    values = data[entry.start : entry.stop].view("<f4").reshape(entry.shape)
    if not np.isfinite(values).all():
        raise SnapshotRefused(f"the snapshot's tensor {name} has values that are not finite")
    return values


def write_weights(
    path: Path, fmt: Format, tensors: Mapping[str, np.ndarray], metadata: Mapping[str, str]
) -> Written:
    """Write all tensors in manifest order; see ``write_file``."""
    listed = [(spec.name, "F32", spec.shape) for spec in fmt.tensors]
    tensors_bytes = (np.ascontiguousarray(tensors[spec.name], "<f4") for spec in fmt.tensors)
    pieces = (piece.tobytes() for piece in tensors_bytes)
    return write_file(path, chain([build_header(listed, metadata)], pieces))


def write_file(path: Path, pieces: Iterable[bytes]) -> Written:
    """Write to a temporary name, sync, rename.

    The digest is of the bytes as they were written: nothing is ever serialised twice.
    """
    digest, temporary = hashlib.sha256(), path.with_name(path.name + ".part")
    with temporary.open("wb") as file:
        for piece in pieces:
            digest.update(piece)
            file.write(piece)
        size = file.tell()
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    return Written(path, digest.hexdigest(), size)
