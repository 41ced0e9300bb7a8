"""Writing shards: the same rows give the same bytes, and a file is whole under its name."""

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from worker_client.contract.tensors import build_header

COPIED_ROWS = 4096


@dataclass(frozen=True)
class ShardFile:
    file: str
    sha256: str
    size: int
    rows: int


def shard_name(number: int) -> str:
    return f"shard-{number:05d}.safetensors"


def write_shard(path: Path, rows: np.ndarray, tokenizer_sha256: str) -> ShardFile:
    """``rows``: int32 ``[n, 1 or 2, seq]``, input_ids and labels."""
    count, planes, seq_len = rows.shape
    listed = [(name, "I32", (count, seq_len)) for name in ("input_ids", "labels")[:planes]]
    digest, temporary = hashlib.sha256(), path.with_suffix(".part")
    with temporary.open("wb") as file:
        for piece in _pieces(build_header(listed, {"belirtec_sha256": tokenizer_sha256}), rows):
            digest.update(piece)
            file.write(piece)
        size = file.tell()
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    return ShardFile(path.name, digest.hexdigest(), size, count)


def _pieces(header: bytes, rows: np.ndarray) -> Iterator[bytes]:
    yield header
    for plane in range(rows.shape[1]):
        for start in range(0, len(rows), COPIED_ROWS):
            yield rows[start : start + COPIED_ROWS, plane].tobytes()
