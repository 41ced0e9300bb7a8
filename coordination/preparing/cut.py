"""Cut files of articles into chunks of whole lines."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from django.core.exceptions import ValidationError

from worker_client.contract.wire import MAX_RAW_BYTES

CHUNK_BYTES = 10**6
SUFFIX = ".jsonl"


def article_files(paths: Iterable[Path]) -> list[Path]:
    """The ``.jsonl`` files that ``paths`` name or hold, in a fixed order.

    Raises:
        ValidationError: one is neither such a file nor a folder with any.
    """
    found = []
    for path in paths:
        files = sorted(path.rglob(f"*{SUFFIX}")) if path.is_dir() else [path]
        files = [file for file in files if file.is_file() and file.suffix == SUFFIX]
        if not files:
            raise ValidationError(f"{path} is no {SUFFIX} file and no folder of such")
        found += files
    return found


def cut(files: Iterable[Path], size: int = CHUNK_BYTES) -> Iterator[bytes]:
    """Chunks of about ``size`` bytes: one more line than that takes. Blank lines, and such that
    no worker would take for their length, are left out."""
    lines: list[bytes] = []
    held = 0
    for line in (line for path in files for line in _lines(path)):
        if held + len(line) > MAX_RAW_BYTES or held >= size:
            yield b"".join(lines)
            lines, held = [], 0
        lines.append(line)
        held += len(line)
    if lines:
        yield b"".join(lines)


def _lines(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while line := file.readline(MAX_RAW_BYTES):
            if len(line) == MAX_RAW_BYTES:
                _skip_line(file, line)
            elif line.strip():
                yield line if line.endswith(b"\n") else line + b"\n"


def _skip_line(file: BinaryIO, line: bytes) -> None:
    while line and not line.endswith(b"\n"):
        line = file.readline(MAX_RAW_BYTES)
