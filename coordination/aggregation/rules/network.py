"""Comparator networks: which values to compare so that wanted ranks end up in known places.

The network is Batcher's odd-even merge sort (K. E. Batcher, Sorting networks and their
applications, 1968), without the comparators that the wanted ranks do not depend on.
"""

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple


class Comparator(NamedTuple):
    """Puts the smaller of rows ``low`` < ``high`` into ``low``; which of minimum and maximum
    anything later looks at."""

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
