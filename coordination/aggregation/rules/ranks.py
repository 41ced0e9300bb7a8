"""Order statistics of matrix columns: of few rows by comparator networks, of many by sorting.

A comparator puts the smaller of two rows above the larger, for all columns at once, so that the
processor compares many columns with each instruction and never branches. The network is
Batcher's odd-even merge sort (K. E. Batcher, Sorting networks and their applications, 1968),
without the comparators that the wanted ranks do not depend on. Its length grows faster than
linearly; numpy's sort of short rows is a network inside of registers, and costs two transpositions.
"""

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import numpy as np

# For 32 rows of 32,768 columns the network takes three quarters of sorting's time, for 40 rows an
# eighth more than it, for 128 almost three times as much.
NETWORK_ROWS = 36
# What is transposed at a time, in values: it and its source fit into a core's own cache.
TILE_FLOATS = 65_536


class Comparator(NamedTuple):
    """Rows ``low`` < ``high``; which of minimum and maximum anything later looks at."""

    low: int
    high: int
    wants_minimum: bool
    wants_maximum: bool


def batcher(n: int) -> Iterator[tuple[int, int]]:
    """Comparators that sort ``n`` rows, in order."""
    p = 1
    while p < n:
        k = p
        while k >= 1:
            for j in range(k % p, n - k, 2 * k):
                for i in range(j, min(j + k, n - k)):
                    if i // (2 * p) == (i + k) // (2 * p):
                        yield i, i + k
            k //= 2
        p *= 2


@cache
def selection(n: int, first: int, last: int) -> tuple[Comparator, ...]:
    """Comparators after which rows ``first`` to ``last`` (exclusive) hold those ranks, in any
    order; what the other rows hold then means nothing."""
    groups = [0] * first + [1] * (last - first) + [2] * (n - last)
    used, kept = [False] * n, []
    for low, high in reversed(list(batcher(n))):
        if not used[low] and not used[high] and groups[low] == groups[high]:
            continue
        wants = [used[row] or groups[row] == 1 for row in (low, high)]
        if any(wants):
            kept.append(Comparator(low, high, *wants))
            used[low] = used[high] = True
    return tuple(reversed(kept))


def ranks(rows: np.ndarray, first: int, last: int) -> list[np.ndarray]:
    """The ``last - first`` rows of ranks ``first`` to ``last`` in each column, unordered.

    ``rows`` is float32 ``[n, columns]`` without NaN, and is overwritten.
    """
    if len(rows) > NETWORK_ROWS:
        return _by_sorting(rows, first, last)
    return _by_comparing(rows, first, last)


def _by_comparing(rows: np.ndarray, first: int, last: int) -> list[np.ndarray]:
    lines, spare = list(rows), np.empty_like(rows[0])
    for low, high, wants_minimum, wants_maximum in selection(len(lines), first, last):
        a, b = lines[low], lines[high]
        if wants_minimum and wants_maximum:
            np.minimum(a, b, out=spare)
            np.maximum(a, b, out=b)
            lines[low], spare = spare, a
        elif wants_minimum:
            np.minimum(a, b, out=a)
        else:
            np.maximum(a, b, out=b)
    return lines[first:last]


def _by_sorting(rows: np.ndarray, first: int, last: int) -> list[np.ndarray]:
    n, columns = rows.shape
    step = max(1, TILE_FLOATS // n)
    scratch = np.empty((step, n), rows.dtype)
    for begin in range(0, columns, step):
        part = rows[:, begin : begin + step]
        tile = scratch[: part.shape[1]]
        np.copyto(tile, part.T)
        tile.sort(axis=1)
        np.copyto(part[first:last], tile[:, first:last].T)
    return list(rows[first:last])
