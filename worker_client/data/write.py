"""Writing shards: the same rows give the same bytes, and a file is whole under its name."""

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from worker_client.contract.recipe import IGNORED_LABEL
from worker_client.contract.tensors import build_header

COPIED_VALUES = 2**18  # of rows at a time: a mebibyte, however long they are


@dataclass(frozen=True)
class ShardFile:
    file: str
    sha256: str
    size: int
    rows: int


def shard_name(number: int) -> str:
    return f"shard-{number:05d}.safetensors"


def write_shard(
    path: Path,
    rows: np.ndarray,
    tokenizer_sha256: str,
    byte_lengths: np.ndarray | None = None,
    more: Mapping[str, str] | None = None,
) -> ShardFile:
    """``rows``: int32 ``[n, 1 or 2, seq]``, input_ids and labels.

    With ``byte_lengths``, the UTF-8 bytes that each token id stands for (``[vocab]``), the file
    says how many tokens and bytes it has to predict. ``more`` goes into its metadata.
    """
    count, planes, seq_len = rows.shape
    listed = [(name, "I32", (count, seq_len)) for name in ("input_ids", "labels")[:planes]]
    metadata = {"belirtec_sha256": tokenizer_sha256, **(more or {})}
    if byte_lengths is not None:
        metadata |= _targets(rows, byte_lengths)
    digest, temporary = hashlib.sha256(), path.with_suffix(".part")
    with temporary.open("wb") as file:
        for piece in _pieces(build_header(listed, metadata), rows):
            digest.update(piece)
            file.write(piece)
        size = file.tell()
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    return ShardFile(path.name, digest.hexdigest(), size, count)


def _targets(rows: np.ndarray, byte_lengths: np.ndarray) -> dict[str, str]:
    tokens = size = 0
    for some in _parts(rows):
        labels = some[:, -1, 1:]
        targets = labels[labels != IGNORED_LABEL]
        tokens, size = tokens + targets.size, size + int(byte_lengths[targets].sum())
    return {"token": str(tokens), "bayt": str(size)}


def _pieces(header: bytes, rows: np.ndarray) -> Iterator[bytes]:
    yield header
    for plane in range(rows.shape[1]):
        for some in _parts(rows):
            yield some[:, plane].tobytes()


def _parts(rows: np.ndarray) -> Iterator[np.ndarray]:
    count = max(1, COPIED_VALUES // rows.shape[-1])
    return (rows[start : start + count] for start in range(0, len(rows), count))
