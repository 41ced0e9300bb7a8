"""Float32 vectors on disk, read in slices of bounded size."""

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np

FLOAT32 = np.dtype("<f4")
# Half a MiB. Merging 32 results of 40 MB took 0.67 s of processor time so, 0.90 s with a quarter
# of it (opening files) and 0.77 s with twice as much (the cache).
SLICE_FLOATS = 131_072
# Values in a line of a processor's cache.
LINE_FLOATS = 16
# A process may hold 1024 descriptors by default, and a server has sockets as well.
HELD_FILES = 256


class TruncatedVector(ValueError):
    """The file ends before the vector does."""


@dataclass(frozen=True)
class VectorFile:
    """``count`` little-endian float32 values at byte ``offset`` of the file at ``path``.

    The file is opened for each read, so that a merge of any number of results needs one
    descriptor at a time.
    """

    path: Path
    offset: int
    count: int

    def read(self, start: int, stop: int, out: np.ndarray | None = None) -> np.ndarray:
        """Values ``start`` to ``stop`` (exclusive) as float32 ``[stop - start]``.

        ``out`` is a contiguous float32 array of at least that length to read into; the answer
        is then a view of it.

        Raises:
            ValueError: the range is not inside the vector.
            TruncatedVector: the file is shorter than the vector.
        """
        if not 0 <= start <= stop <= self.count:
            raise ValueError(f"{start} to {stop} is not inside a vector of {self.count} values")
        values = np.empty(stop - start, FLOAT32) if out is None else out[: stop - start]
        descriptor = os.open(self.path, os.O_RDONLY)
        try:
            self.fill(descriptor, values, start)
        finally:
            os.close(descriptor)
        return values

    def fill(self, descriptor: int, values: np.ndarray, start: int) -> None:
        """Read contiguous ``values`` from ``start`` on, of this file already open."""
        rest, position = as_bytes(values), self.offset + 4 * start
        while rest.nbytes:
            got = os.preadv(descriptor, [rest], position)
            if not got:
                raise TruncatedVector(f"{self.path.name} ends before its {self.count} values do")
            rest, position = rest[got:], position + got


class Slice(NamedTuple):
    """Values ``begin`` to ``end`` of a round's start and of its merged vector, float32."""

    begin: int
    end: int
    start: np.ndarray
    merged: np.ndarray


class Rows:
    """The same slice of many vectors, as the rows of a matrix; a context manager.

    The files stay open meanwhile if they are few enough to be.
    """

    def __init__(self, vectors: Sequence[VectorFile]) -> None:
        self.vectors, self._open_files = vectors, ExitStack()
        self.descriptors = np.empty(0, np.int64)
        self.offsets = np.array([vector.offset for vector in vectors], np.int64)

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            if len(self.vectors) <= HELD_FILES:
                files = [stack.enter_context(vector.path.open("rb")) for vector in self.vectors]
                self.descriptors = np.array([file.fileno() for file in files], np.int64)
            self._open_files = stack.pop_all()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.descriptors = self.descriptors[:0]
        self._open_files.close()

    @property
    def held(self) -> bool:
        """The files are open: ``descriptors`` are theirs, and ``offsets`` where in them."""
        return len(self.descriptors) > 0

    def read(self, start: int, stop: int, out: np.ndarray) -> np.ndarray:
        """Values ``start`` to ``stop`` of every vector: a view ``[n, stop - start]`` of ``out``,
        which is float32 ``[at least n, at least stop - start]``."""
        rows = out[: len(self.vectors), : stop - start]
        for number, vector in enumerate(self.vectors):
            if self.held:
                vector.fill(int(self.descriptors[number]), rows[number], start)
            else:
                vector.read(start, stop, rows[number])
        return rows

    def buffer(self, columns: int) -> np.ndarray:
        """Uninitialised float32 to read slices of up to ``columns`` values into. Each row begins
        at a line of the processor's cache, and at another one than those next to it."""
        n, width = len(self.vectors), (columns // LINE_FLOATS + 2) * LINE_FLOATS
        floats = np.empty(n * width + LINE_FLOATS, FLOAT32)
        first = -(floats.ctypes.data // FLOAT32.itemsize) % LINE_FLOATS
        return floats[first : first + n * width].reshape(n, width)[:, :columns]


def slices(count: int, step: int = SLICE_FLOATS) -> Iterator[tuple[int, int]]:
    """Consecutive ``(start, stop)`` that cover ``count`` values, at most ``step`` each."""
    for start in range(0, count, step):
        yield start, min(start + step, count)


def as_bytes(values: np.ndarray) -> memoryview:
    """A contiguous float32 array as its little-endian bytes, without a copy."""
    return values.view(np.uint8).data
