"""Means of order statistics of matrix columns: of few rows by a compiled network of comparators,
of many by sorting.

A comparator puts the smaller of two rows above the larger for many columns with one instruction,
and never branches. What numpy would do in two passes over memory each is compiled into one loop,
which holds the rows of as many columns as a register has room for.
"""

from functools import lru_cache

import numpy as np
from llvmlite.ir import Value, VectorType

from coordination.aggregation.rules.network import selection
from coordination.aggregation.sweep import Block, kernel
from worker_client.contract.native import (
    ADDRESS,
    DOUBLE,
    FLOAT,
    FLOATS,
    INTEGER,
    LANES,
    Function,
    Loops,
    has_wide_registers,
)

# A network's length grows faster than linearly with its rows, and so does the compiler's work.
NETWORK_ROWS = 128
# What is transposed at a time to be sorted, in values: it and its source fit into a core's cache.
TILE_FLOATS = 65_536


@lru_cache(maxsize=64)
def mean_of_ranks(n: int, first: int, last: int) -> Function:
    """A kernel of ``(start, merged, factors)`` for blocks of ``n`` rows below the start's row.

    Fills float32 ``merged`` with the mean, of each column, of its values of ranks ``first`` to
    ``last`` (exclusive), summed in float64 and rounded once, and ``start`` with row 0. Before,
    rows are drawn to the start by float32 ``factors`` ``[1 + n]`` where those are not 1. Which of
    0.0 and -0.0 comes first depends on the processor, so a sum of nothing else is 0.0. There must
    be no NaN.
    """

    def write(loops: Loops, block: Block, arguments: list[Value]) -> None:
        start, merged, factors = (loops.inttoptr(value, ADDRESS) for value in arguments)
        _clip(loops, block, factors)
        # Half registers would double the compiler's work, and what it remembers.
        lanes = LANES if has_wide_registers() else LANES // 2
        floats, doubles = (VectorType(kind, lanes) for kind in (FLOAT, DOUBLE))
        rows = [block.row(loops, INTEGER(1 + number)) for number in range(n)]

        def one(column: Value) -> None:
            lines = [loops.floats(row, column, floats) for row in rows]
            for low, high, wants_minimum, wants_maximum in selection(n, first, last):
                pair = lines[low], lines[high]
                if wants_minimum:
                    lines[low] = loops.intrinsic("minnum", *pair, flags=("nnan", "nsz"))
                if wants_maximum:
                    lines[high] = loops.intrinsic("maxnum", *pair, flags=("nnan", "nsz"))
            total = doubles([0.0] * lanes)  # 0.0 + -0.0 is 0.0
            for line in lines[first:last]:
                total = loops.fadd(total, loops.fpext(line, doubles))
            mean = loops.fdiv(total, doubles([float(last - first)] * lanes))
            place = loops.add(block.column, column)
            loops.put(loops.floats(block.rows, column, floats), start, place)
            loops.put(loops.fptrunc(mean, floats), merged, place)

        loops.loop(INTEGER(0), block.columns, INTEGER(lanes), one)

    return kernel(write, 3)


def _clip(loops: Loops, block: Block, factors: Value) -> None:
    def clip(number: Value) -> None:
        factor = loops.load(loops.at(factors, number), typ=FLOAT)
        with loops.if_then(loops.fcmp_ordered("!=", factor, FLOAT(1.0))):
            row, by = block.row(loops, number), loops.everywhere(factor, FLOATS)

            def draw(column: Value) -> None:
                start = loops.floats(block.rows, column)
                update = loops.fsub(loops.floats(row, column), start)
                loops.put(loops.fadd(loops.fmul(update, by), start), row, column)

            loops.loop(INTEGER(0), block.columns, INTEGER(LANES), draw)

    loops.loop(INTEGER(1), block.n, INTEGER(1), clip)


def mean_of_sorted(rows: np.ndarray, first: int, last: int) -> np.ndarray:
    """The same of float32 ``rows`` ``[n, columns]``, for any number of them."""
    n, columns = rows.shape
    step = max(1, TILE_FLOATS // n)
    out, scratch = np.empty(columns, np.float32), np.empty((step, n), rows.dtype)
    for begin in range(0, columns, step):
        part = rows[:, begin : begin + step]
        tile = scratch[: part.shape[1]]
        np.copyto(tile, part.T)
        tile.sort(axis=1)
        total = tile[:, first:last].sum(axis=1, dtype=np.float64)
        out[begin : begin + step] = total / (last - first) + 0.0
    return out
