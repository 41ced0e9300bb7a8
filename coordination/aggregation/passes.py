"""One pass over many vectors: slices are read and worked on by a few threads, and come in order.

What reads and computes lets other threads run meanwhile. What is computed of a slice depends
on that slice alone, so that the bytes do not depend on the number of threads.
"""

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from queue import SimpleQueue
from typing import TypeVar

import numpy as np

from coordination.aggregation.sweep import sweep
from coordination.aggregation.vectors import Rows, VectorFile
from worker_client.contract.native import LANES, Function, address

T = TypeVar("T")
MAX_THREADS = 4
# What a thread works on before it looks for more.
SLICE_COLUMNS = 65_536
# A thread's buffer, in float32 values: a megabyte, which a core's own cache holds. Where Python has
# something to do with each block fewer are faster, and much fewer where it opens files for each.
SWEPT_FLOATS = 262_144
READ_FLOATS = 1_048_576
OPENED_FLOATS = 4_194_304


@dataclass(frozen=True)
class Piece:
    """Values ``begin`` to ``end`` of every vector, of which a block of at most ``columns`` at a
    time is in memory."""

    begin: int
    end: int
    rows: Rows
    columns: int
    buffer: np.ndarray

    def blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Which columns of the piece, and float32 ``rows`` ``[vectors, columns]``, which may be
        overwritten and are gone when the next are asked for."""
        for first in range(self.begin, self.end, self.columns):
            last = min(first + self.columns, self.end)
            rows = self.rows.read(first, last, self.buffer)
            yield slice(first - self.begin, last - self.begin), rows

    def sweep(self, kernel: Function, *arguments: int | np.ndarray) -> None:
        """Calls a kernel (see ``coordination.aggregation.sweep``) with each block. Of arrays it
        gets the addresses; what it fills has room for ``LANES`` more columns."""
        values = [address(a) if isinstance(a, np.ndarray) else a for a in arguments]
        given = np.array(values, np.int64)
        matrix = address(self.buffer), self.buffer.strides[0], len(self.buffer)
        first = self.begin
        while first < self.end:
            if self.rows.held:
                files = address(self.rows.descriptors), address(self.rows.offsets)
                span = first, self.end, self.columns, self.begin
                first = sweep()(*files, *matrix, *span, kernel.address, address(given))
            if first < self.end:  # Python reads on, and knows what is wrong if something is
                count = min(self.columns, self.end - first)
                self.rows.read(first, first + count, self.buffer)
                self.buffer[:, count : count + LANES] = 0
                kernel(*matrix, -(-count // LANES) * LANES, first - self.begin, address(given))
                first += count


def over_slices(
    vectors: Sequence[VectorFile], work: Callable[[Piece], T], buffer_floats: int = SWEPT_FLOATS
) -> Iterator[T]:
    """What ``work`` makes of each slice, in order; it may answer no view of the slice's rows."""
    threads = min(MAX_THREADS, os.cpu_count() or 1)
    count, n = vectors[0].count, len(vectors)
    with Rows(vectors) as rows:
        floats = buffer_floats if rows.held else OPENED_FLOATS
        columns = max(LANES, min(SLICE_COLUMNS, floats // n // LANES * LANES))
        buffers: SimpleQueue[np.ndarray] = SimpleQueue()
        for _ in range(threads):
            buffers.put(rows.buffer(columns + LANES))

        def one(begin: int) -> T:
            buffer, end = buffers.get(), min(begin + SLICE_COLUMNS, count)
            try:
                return work(Piece(begin, end, rows, columns, buffer))
            finally:
                buffers.put(buffer)

        yield from _in_order(one, range(0, count, SLICE_COLUMNS), threads)


def _in_order(one: Callable[[int], T], begins: Sequence[int], threads: int) -> Iterator[T]:
    """While the caller looks at a slice, each thread has one to do and one is ready."""
    under_way: deque[Future[T]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        for begin in begins:
            under_way.append(pool.submit(one, begin))
            if len(under_way) > threads + 1:
                yield under_way.popleft().result()
        while under_way:
            yield under_way.popleft().result()
