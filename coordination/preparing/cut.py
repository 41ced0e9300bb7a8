"""Cut files of articles into chunks of whole lines."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from worker_client.contract.wire import MAX_RAW_BYTES
from worker_client.corpus.pieces import Piece, lines

CHUNK_BYTES = 10**6


def cut(files: Iterable[Path], size: int = CHUNK_BYTES) -> Iterator[bytes]:
    """Chunks of about ``size`` bytes: one more line than that takes. Blank lines, and such that
    no worker would take for their length, are left out."""
    chunk: list[bytes] = []
    held = 0
    for line in (line for path in files for line in _whole_lines(path)):
        if held + len(line) > MAX_RAW_BYTES or held >= size:
            yield b"".join(chunk)
            chunk, held = [], 0
        chunk.append(line)
        held += len(line)
    if chunk:
        yield b"".join(chunk)


def _whole_lines(path: Path) -> Iterator[bytes]:
    for line in lines(Piece(path, 0, path.stat().st_size)):
        if line is not None:
            yield line if line.endswith(b"\n") else line + b"\n"
