"""The result as an encoded delta; what ``topk`` leaves out goes into the next one."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import IO

import numpy as np

from worker_client.contract.encodings import CHUNK, Codec
from worker_client.contract.encodings.delta import delta_file
from worker_client.contract.formats import Format
from worker_client.training.files import Written, read_weights, write_file

FLOAT32 = np.dtype("<f4")


def left_path(result: Path) -> Path:
    """Where the values that a result's encoding left out lie until the result is accepted."""
    return result.with_suffix(".left")


def write_delta(
    path: Path,
    fmt: Format,
    codec: Codec,
    snapshot: Path,
    trained: Mapping[str, np.ndarray],
    metadata: Mapping[str, str],
    residual: Path | None = None,
) -> Written:
    """Write ``trained - snapshot`` in the encoding of ``codec``.

    With a codec that feeds back, ``residual`` (raw float32 in manifest order, if it is there) is
    added before encoding, and what encoding loses is written to ``left_path(path)``.

    Raises:
        SnapshotRefused: the snapshot is not of this format.
    """
    chunks = _delta_chunks(fmt, read_weights(snapshot, fmt), trained)
    with ExitStack() as stack:
        if codec.feeds_back:
            before = _open_residual(stack, residual, fmt)
            after = stack.enter_context(left_path(path).open("wb"))
            chunks = _feed_back(chunks, codec, before, after)
        return write_file(path, delta_file(codec, fmt.parameters, chunks, metadata))


def _open_residual(stack: ExitStack, residual: Path | None, fmt: Format) -> IO[bytes] | None:
    """None also where it belongs to another format, since the run has changed."""
    if residual is None or not residual.is_file() or residual.stat().st_size != fmt.data_bytes:
        return None
    return stack.enter_context(residual.open("rb"))


def _feed_back(
    chunks: Iterator[np.ndarray], codec: Codec, before: IO[bytes] | None, after: IO[bytes]
) -> Iterator[np.ndarray]:
    sent = np.empty(CHUNK, FLOAT32)
    for chunk in chunks:
        if before is not None:
            chunk += np.frombuffer(before.read(chunk.nbytes), FLOAT32)
        codec.decode(codec.encode(chunk), sent[: len(chunk)])
        after.write((chunk - sent[: len(chunk)]).tobytes())
        yield chunk


def _delta_chunks(
    fmt: Format, start: Mapping[str, np.ndarray], trained: Mapping[str, np.ndarray]
) -> Iterator[np.ndarray]:
    """``CHUNK`` values after another across the borders of tensors; the last may be shorter."""
    chunk, filled = np.empty(CHUNK, FLOAT32), 0
    for spec in fmt.tensors:
        values, origin = trained[spec.name].reshape(-1), start[spec.name].reshape(-1)
        position = 0
        while position < spec.count:
            taken = min(CHUNK - filled, spec.count - position)
            inside = slice(position, position + taken)
            np.subtract(values[inside], origin[inside], out=chunk[filled : filled + taken])
            filled, position = filled + taken, position + taken
            if filled == CHUNK:
                yield chunk
                filled = 0
    if filled:
        yield chunk[:filled]
