"""Verb: the rows of all chunks of a text into a run's shards."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from worker_client.corpus.shard import SPOOL, Slice, mixed, rows_of, write_slice
from worker_client.corpus.workspace import write
from worker_client.data.errors import DataError
from worker_client.data.write import ShardFile, shard_name
from worker_client.models.load import TextCodec

CHUNKS = "chunks.i4"
COPY_BYTES = 1 << 20


def mix_chunks(
    files: Sequence[Path], codec: TextCodec, seq_len: int, shards: int, folder: Path
) -> list[ShardFile]:
    """Write ``shards`` equal files into the empty ``folder``, each with rows of every chunk.

    ``files`` hold rows, int32 ``[rows, seq]`` little-endian, one a chunk in the order of the
    chunks, which decides the bytes.

    Raises:
        DataError: too few rows.
    """
    counts = [path.stat().st_size // (4 * seq_len) for path in files]
    if (total := sum(counts)) < shards:
        raise DataError(f"the text makes {total} rows, too few for {shards} shards")
    # One file: a run may have more chunks than a process may open.
    write(folder / CHUNKS, (piece for path in files for piece in _pieces(path)))
    whole = rows_of(folder / CHUNKS, seq_len)
    ends = np.cumsum(counts)
    parts = [whole[end - count : end] for count, end in zip(counts, ends, strict=True) if count]
    write(folder / SPOOL, mixed(parts))
    return [
        write_slice(
            Slice(shard_name(number), folder / SPOOL, number, shards, total // shards),
            folder,
            seq_len,
            codec.sha256,
            codec.byte_lengths,
        )
        for number in range(shards)
    ]


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(COPY_BYTES):
            yield piece
