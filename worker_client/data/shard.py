"""Reading a shard: checked whole before the first row is used, mapped rather than loaded."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from worker_client.contract.errors import Refused
from worker_client.contract.formats import Format
from worker_client.contract.recipe import IGNORED_LABEL
from worker_client.contract.tensors import Header, read_header
from worker_client.data.errors import DataError

CHECKED_ROWS = 4096


@dataclass(frozen=True)
class Shard:
    """``input_ids`` int32 ``[rows, seq]``; ``labels`` likewise (-100: no loss), None for cpt.
    ``target_bytes``: UTF-8 bytes of all predicted tokens, 0 where the file does not say."""

    input_ids: np.ndarray
    labels: np.ndarray | None
    target_bytes: int = 0

    @property
    def rows(self) -> int:
        return self.input_ids.shape[0]

    def batch(self, rows: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """``(input_ids, labels)``, int64 ``[len(rows), seq]``; in cpt the labels are the ids."""
        chosen = list(rows)
        ids = self.input_ids[chosen].astype(np.int64)
        return ids, ids if self.labels is None else self.labels[chosen].astype(np.int64)


def open_shard(
    path: Path, fmt: Format, seq_len: int, mode: str, tokenizer_sha256: str | None = None
) -> Shard:
    """Check a shard against the format's vocabulary and tokenizer and the task's numbers.

    ``tokenizer_sha256`` is the run's, for formats that have none of their own.

    Raises:
        DataError: says what differs.
    """
    try:
        with path.open("rb") as file:
            header = read_header(file, path.stat().st_size)
    except (OSError, Refused) as error:
        raise DataError(f"the shard {path.name} cannot be read: {error}") from error
    made_with = header.metadata.get("belirtec_sha256")
    if any(made_with != wanted for wanted in (fmt.tokenizer_sha256, tokenizer_sha256) if wanted):
        raise DataError(f"the shard {path.name} was made with another tokenizer than the run's")
    ids = _read_rows(path, header, "input_ids", seq_len)
    labels = _read_rows(path, header, "labels", seq_len) if mode == "sft" else None
    if labels is not None and labels.shape != ids.shape:
        raise DataError(f"the shard {path.name} has not as many labels as input_ids")
    _check_range(path, ids, labels, fmt.vocab_size)
    told = header.metadata.get("bayt", "")
    return Shard(ids, labels, int(told) if told.isascii() and told.isdigit() else 0)


def _read_rows(path: Path, header: Header, name: str, seq_len: int) -> np.ndarray:
    entry = header.tensors.get(name)
    if entry is None:
        raise DataError(f"the shard {path.name} has no tensor {name}, which this mode needs")
    if entry.dtype != "I32" or len(entry.shape) != 2:
        raise DataError(f"{name} of {path.name} is {entry.dtype} {list(entry.shape)}, not I32 2-d")
    rows, width = entry.shape
    if width != seq_len:
        raise DataError(f"{path.name} has rows of {width} tokens where the task says {seq_len}")
    if rows < 1:
        raise DataError(f"the shard {path.name} has no rows")
    return np.memmap(path, "<i4", mode="r", offset=entry.start, shape=(rows, width))


def _check_range(path: Path, ids: np.ndarray, labels: np.ndarray | None, vocab: int) -> None:
    for start in range(0, len(ids), CHECKED_ROWS):
        piece = ids[start : start + CHECKED_ROWS]
        if piece.min() < 0 or piece.max() >= vocab:
            raise DataError(f"{path.name} has token ids outside the vocabulary of {vocab}")
        if labels is not None:
            wanted = labels[start : start + CHECKED_ROWS]
            inside = (wanted >= 0) & (wanted < vocab)
            if not (inside | (wanted == IGNORED_LABEL)).all():
                raise DataError(f"{path.name} has labels outside the vocabulary of {vocab}")
