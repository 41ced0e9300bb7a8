"""Files of lines, cut into pieces that can be worked on in any order."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from worker_client.data.errors import DataError

PIECE_BYTES = 2**22
MAX_LINE_BYTES = 2**24
SUFFIX = ".jsonl"


@dataclass(frozen=True)
class Piece:
    """The lines of a file that begin at a byte from ``start`` to before ``stop``."""

    path: Path
    start: int
    stop: int

    @property
    def size(self) -> int:
        return self.stop - self.start


def article_files(paths: Iterable[Path]) -> list[Path]:
    """The ``.jsonl`` files that ``paths`` name or hold, in a fixed order.

    Raises:
        DataError: one is neither such a file nor a folder with any.
    """
    found = []
    for path in paths:
        files = sorted(path.rglob(f"*{SUFFIX}")) if path.is_dir() else [path]
        files = [file for file in files if file.is_file() and file.suffix == SUFFIX]
        if not files:
            raise DataError(f"{path} is no {SUFFIX} file and no folder of such")
        found += files
    return found


def pieces(files: Iterable[Path], size: int = PIECE_BYTES) -> Iterator[Piece]:
    """All of the files, cut every ``size`` bytes."""
    for path in files:
        whole = path.stat().st_size
        for start in range(0, whole, size):
            yield Piece(path, start, min(start + size, whole))


def lines(piece: Piece) -> Iterator[bytes | None]:
    """The piece's lines that are not blank; None for one above ``MAX_LINE_BYTES``."""
    with piece.path.open("rb") as file:
        if piece.start:
            file.seek(piece.start - 1)
            _skip_line(file)
        while file.tell() < piece.stop:
            line = file.readline(MAX_LINE_BYTES)
            if len(line) == MAX_LINE_BYTES and not line.endswith(b"\n"):
                _skip_line(file)
                yield None
            elif line.strip():
                yield line


def _skip_line(file: BinaryIO) -> None:
    """To the next line's begin, in bounded memory."""
    while (part := file.readline(MAX_LINE_BYTES)) and not part.endswith(b"\n"):
        pass
