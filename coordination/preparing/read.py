"""Read what a worker made of a chunk of text, believing nothing."""

from pathlib import Path
from typing import BinaryIO

import numpy as np

from coordination.models import Lease, Run
from coordination.store.local import BlobWriter
from worker_client.contract.errors import Refusal, Refused
from worker_client.contract.recipe import MOST_TOKENS_PER_BYTE
from worker_client.contract.tensors import Header, TensorEntry, read_header

NAME = "input_ids"
READ_BYTES = 1 << 20


def most_tokens(lease: Lease) -> int:
    """How many tokens the lease's chunk can become at most."""
    chunk = lease.unit.chunk
    assert chunk is not None, "the database holds that this job has a chunk"
    return MOST_TOKENS_PER_BYTE * chunk.size


def read_rows(run: Run, lease: Lease, file: Path, writer: BlobWriter) -> tuple[int, dict[str, str]]:
    """Copy the rows of a shard, int32 ``[n, seq]``, to ``writer``; n and the file's metadata.

    The rows are all that the same chunk makes the same of: the metadata tells of its making.

    Raises:
        Refused: CORRUPT_FILE, TENSOR_MISSING, TENSOR_EXTRA, WRONG_DTYPE, WRONG_SHAPE.
    """
    with file.open("rb") as source:
        header = read_header(source, file.stat().st_size)
        entry = _entry(header)
        rows = _check_shape(run, lease, entry)
        _check_metadata(run, header, rows)
        source.seek(entry.start)
        _copy(run, source, entry.stop - entry.start, writer)
    return rows, header.metadata


def _entry(header: Header) -> TensorEntry:
    entry = header.tensors.get(NAME)
    if entry is None:
        raise Refused(Refusal.TENSOR_MISSING, f"a prepared text has a tensor {NAME}")
    if len(header.tensors) > 1:
        raise Refused(Refusal.TENSOR_EXTRA, f"a prepared text has no tensor but {NAME}")
    if entry.dtype != "I32":
        raise Refused(Refusal.WRONG_DTYPE, f"{NAME} is {entry.dtype}, not I32")
    return entry


def _check_shape(run: Run, lease: Lease, entry: TensorEntry) -> int:
    if len(entry.shape) != 2 or entry.shape[1] != run.seq_len:
        raise Refused(Refusal.WRONG_SHAPE, f"{NAME} is {list(entry.shape)}, not n by {run.seq_len}")
    if (tokens := entry.shape[0] * run.seq_len) > most_tokens(lease):
        raise Refused(Refusal.WRONG_SHAPE, f"this text cannot become {tokens} tokens")
    return entry.shape[0]


def _check_metadata(run: Run, header: Header, rows: int) -> None:
    told, targets = header.metadata, str(rows * (run.seq_len - 1))
    if told.get("belirtec_sha256") != run.tokenizer:
        raise Refused(Refusal.CORRUPT_FILE, "belirtec_sha256 is not that of the task's tokenizer")
    counted = told.get("bayt", "")
    if told.get("token") != targets or not (counted.isascii() and counted.isdecimal()):
        raise Refused(Refusal.CORRUPT_FILE, f"{rows} rows have token {targets}, and say bayt")


def _copy(run: Run, source: BinaryIO, size: int, writer: BlobWriter) -> None:
    vocabulary = run.manifest.vocab_size
    for start in range(0, size, READ_BYTES):
        data = source.read(min(READ_BYTES, size - start))
        ids = np.frombuffer(data, "<i4")
        if ids.min() < 0 or ids.max() >= vocabulary:
            raise Refused(
                Refusal.CORRUPT_FILE, f"there are token ids outside the vocabulary of {vocabulary}"
            )
        writer.write(data)
