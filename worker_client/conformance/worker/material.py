"""A run's files, made from a format's manifest alone."""

import numpy as np

from worker_client.contract.formats import AdapterFormat, Format
from worker_client.contract.tensors import build_header

SEQ, SHARD_ROWS = 16, 4096


def snapshot(fmt: Format) -> bytes:
    """Round 1's weights: A small random numbers, B zero."""
    draw = np.random.default_rng(0)
    parts = [
        draw.normal(0, 0.1, spec.shape) if ".lora_A." in spec.name else np.zeros(spec.shape)
        for spec in fmt.tensors
    ]
    header = build_header(((s.name, "F32", s.shape) for s in fmt.tensors), {"format": "pt"})
    return header + b"".join(part.astype("<f4").tobytes() for part in parts)


def later_snapshot(fmt: Format, number: int, values: np.ndarray) -> bytes:
    """Snapshot ``number`` with ``values`` in manifest order, as a coordinator publishes it."""
    metadata = {"bicim": fmt.id, "format": "pt", "tur": str(number)}
    header = build_header(((s.name, "F32", s.shape) for s in fmt.tensors), metadata)
    return header + values.astype("<f4").tobytes()


def shard(fmt: AdapterFormat) -> bytes:
    """Rows of random tokens, several Range requests long."""
    base = fmt.base_model
    ids = np.random.default_rng(1).integers(0, min(base.vocab_size, 256), (SHARD_ROWS, SEQ), "<i4")
    tokenizer = {"belirtec_sha256": base.tokenizer_sha256}
    return build_header([("input_ids", "I32", ids.shape)], tokenizer) + ids.tobytes()
