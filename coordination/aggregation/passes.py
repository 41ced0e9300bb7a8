"""One pass over many vectors: slices are read and worked on by a few threads, and come in order.

numpy and the system's reads let other threads run meanwhile. What is computed of a slice depends
on that slice alone, so that the bytes do not depend on the number of threads.
"""

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import numpy as np

from coordination.aggregation.vectors import Rows, VectorFile

T = TypeVar("T")
MAX_THREADS = 4
# What all threads' buffers together hold, in float32 values, and the widest slice.
BUFFER_FLOATS = 4_194_304
MAX_COLUMNS = 32_768


def over_slices(
    vectors: Sequence[VectorFile], work: Callable[[int, int, np.ndarray], T]
) -> Iterator[T]:
    """What ``work(begin, end, rows)`` makes of each slice, in order.

    ``rows`` is float32 ``[len(vectors), end - begin]`` and may be overwritten. What is yielded
    may be a view of it: it stays until the next is asked for.
    """
    slots = min(MAX_THREADS, os.cpu_count() or 1) + 1
    columns = min(MAX_COLUMNS, max(1, BUFFER_FLOATS // slots // len(vectors)))
    spans = [(b, min(b + columns, vectors[0].count)) for b in range(0, vectors[0].count, columns)]
    with Rows(vectors) as rows:

        def one(begin: int, end: int, buffer: np.ndarray) -> T:
            return work(begin, end, rows.read(begin, end, buffer))

        yield from _in_order(one, spans, [rows.buffer(columns) for _ in range(slots)])


def _in_order(
    one: Callable[[int, int, np.ndarray], T],
    spans: Sequence[tuple[int, int]],
    buffers: Sequence[np.ndarray],
) -> Iterator[T]:
    """As many slices are under way as there are buffers, the one that the caller looks at
    included."""
    under_way: deque[Future[T]] = deque()
    with ThreadPoolExecutor(len(buffers) - 1) as pool:
        for number, (begin, end) in enumerate(spans):
            if len(under_way) == len(buffers) - 1:
                yield under_way.popleft().result()
            under_way.append(pool.submit(one, begin, end, buffers[number % len(buffers)]))
        while under_way:
            yield under_way.popleft().result()
