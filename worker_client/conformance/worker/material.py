"""A run's files, made from a format's manifest alone."""

import numpy as np

from worker_client.contract.formats import AdapterFormat, Format
from worker_client.contract.recipe import IGNORED_LABEL
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


def shard(
    fmt: AdapterFormat, seq: int = SEQ, tokenizer: str = "", odd_id: int = 0, labelled: int = 0
) -> bytes:
    """Rows of random tokens, several Range requests long, each of which begins with ``odd_id``.
    With ``labelled`` only so many tokens at the end of each row are to be predicted."""
    base = fmt.base_model
    draw = np.random.default_rng(1)
    ids = draw.integers(0, min(base.vocab_size, 256), (SHARD_ROWS, seq), "<i4")
    ids[:, 0] = odd_id
    parts = {"input_ids": ids}
    if labelled:
        parts["labels"] = ids.copy()
        parts["labels"][:, :-labelled] = IGNORED_LABEL
    header = build_header(
        [(name, "I32", part.shape) for name, part in parts.items()],
        {"belirtec_sha256": tokenizer or base.tokenizer_sha256},
    )
    return header + b"".join(part.tobytes() for part in parts.values())
