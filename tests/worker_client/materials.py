"""Real files for trainer tests: snapshots, shards and commands of the tiny format."""

from pathlib import Path

import numpy as np

from worker_client.contract.formats import Format, load_adapter_format
from worker_client.contract.tensors import build_header
from worker_client.training.initial import write_initial
from worker_client.training.messages import Train

TINY = load_adapter_format("tiny-qwen3-lora-r4")


def write_shard(
    path: Path,
    input_ids: np.ndarray,
    labels: np.ndarray | None = None,
    *,
    fmt: Format = TINY,
    dtype: str = "I32",
    tokenizer: str | None = None,
) -> Path:
    """A shard file with whatever is to be right or wrong about it."""
    tensors = {"input_ids": input_ids} | ({} if labels is None else {"labels": labels})
    metadata = {"belirtec_sha256": tokenizer or fmt.tokenizer_sha256 or "ab" * 32}
    header = build_header([(n, dtype, t.shape) for n, t in tensors.items()], metadata)
    path.write_bytes(header + b"".join(np.ascontiguousarray(t).tobytes() for t in tensors.values()))
    return path


def pattern_rows(rows: int, seq_len: int, fmt: Format = TINY) -> np.ndarray:
    """Rows that can be learned: each repeats a short cycle of bytes."""
    start = np.arange(rows)[:, None] % 5
    return ((start + np.arange(seq_len)) % 5 + 65).astype("<i4")


def task_command(folder: Path, fmt: Format = TINY, **changes: object) -> Train:
    """A task of the format with its snapshot and shard written into ``folder``."""
    snapshot, data = folder / "snapshot.safetensors", folder / "data.safetensors"
    numbers: dict = {
        "lease_id": "lease-1", "round": 1, "rounds": 3, "inner_steps": 4, "batch_size": 4,
        "seq_len": 32, "lr": 1e-3, "seed": 7, "shard": 0, "mode": "cpt",
    }  # fmt: skip
    numbers |= changes
    if not snapshot.exists():
        write_initial(fmt, 7, snapshot)
    if not data.exists():
        write_shard(data, pattern_rows(10, numbers["seq_len"], fmt), fmt=fmt)
    places = {"snapshot": snapshot, "data": data, "out": folder / "out.safetensors"}
    return Train(**{name: str(path) for name, path in places.items()} | numbers)
