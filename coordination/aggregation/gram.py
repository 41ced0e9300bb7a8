"""Inner products of all updates of a round, in one pass over the files."""

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product

import numpy as np
from llvmlite.ir import Value

from coordination.aggregation.passes import Piece, over_slices
from coordination.aggregation.sweep import Block, kernel
from coordination.aggregation.vectors import VectorFile
from worker_client.contract.native import (
    ADDRESS,
    DOUBLE,
    FLOATS,
    INTEGER,
    LANES,
    Function,
    Loops,
    has_wide_registers,
)

# So many rows are multiplied with as many at a time: their sums and they fit into registers, 32
# that hold ``LANES`` values each, or 16 that hold half as many.
WIDE_TILE, TILE = 4, 2
# Columns of so many rows fit into the first level of cache.
PART = 1024


def gram_matrix(start: VectorFile, vectors: Sequence[VectorFile]) -> np.ndarray:
    """Inner products of ``vector - start``, float64 ``[n, n]``.

    Parts are multiplied in float32 and summed in float64: of vectors with finite norms every
    entry is right to about 1e-7 of the product of their norms.
    """
    n = len(vectors)
    width = -(-n // WIDE_TILE) * WIDE_TILE

    def products(piece: Piece) -> np.ndarray:
        found = np.zeros((width, width))
        piece.sweep(_products(), found, width)
        return found

    lower = sum(over_slices([start, *vectors], products), np.zeros((width, width)))[:n, :n]
    return np.tril(lower) + np.tril(lower, -1).T


@cache
def _products() -> Function:
    """A kernel of ``(out, width)``: adds to the lower triangle of float64 ``[width, width]``."""
    size = WIDE_TILE if has_wide_registers() else TILE

    def write(loops: Loops, block: Block, arguments: list[Value]) -> None:
        out, width = loops.inttoptr(arguments[0], ADDRESS), arguments[1]

        def part(begin: Value) -> None:
            end = loops.lesser(loops.add(begin, INTEGER(PART)), block.columns)
            _subtract_start(loops, block, begin, end)

            def tiles(high: Value) -> None:
                def tile(low: Value) -> None:
                    for i, j, found in _tile(loops, block, (begin, end), (high, low), size):
                        place = loops.at(out, loops.add(loops.mul(i, width), j), DOUBLE)
                        before = loops.load(place, typ=DOUBLE)
                        loops.store(loops.fadd(before, loops.fpext(found, DOUBLE)), place)

                loops.loop(INTEGER(1), loops.add(high, INTEGER(1)), INTEGER(size), tile)

            loops.loop(INTEGER(1), block.n, INTEGER(size), tiles)

        loops.loop(INTEGER(0), block.columns, INTEGER(PART), part)

    return kernel(write, 2)


def _subtract_start(loops: Loops, block: Block, begin: Value, end: Value) -> None:
    def subtract(number: Value) -> None:
        row = block.row(loops, number)

        def step(column: Value) -> None:
            start = loops.floats(block.rows, column)
            loops.put(loops.fsub(loops.floats(row, column), start), row, column)

        loops.loop(begin, end, INTEGER(LANES), step)

    loops.loop(INTEGER(1), block.n, INTEGER(1), subtract)


def _tile(
    loops: Loops, block: Block, span: tuple[Value, Value], corner: tuple[Value, Value], size: int
) -> Iterator[tuple[Value, Value, Value]]:
    """``(i, j, update i @ update j)`` of ``size`` rows with as many others, from the rows of
    ``corner`` on; where there are no more, the last stands in."""
    last = loops.sub(block.n, INTEGER(1))
    numbers = [[loops.add(first, INTEGER(i)) for i in range(size)] for first in corner]
    rows = [[block.row(loops, loops.lesser(x, last)) for x in side] for side in numbers]

    def step(column: Value, *sums: Value) -> list[Value]:
        high, low = ([loops.floats(row, column) for row in side] for side in rows)
        pairs = zip(product(high, low), sums, strict=True)
        return [loops.intrinsic("fmuladd", a, b, total) for (a, b), total in pairs]

    zeros = [FLOATS([0.0] * LANES)] * size**2
    sums = loops.loop(*span, INTEGER(LANES), step, *zeros)
    for (i, j), total in zip(product(*numbers), sums, strict=True):
        yield loops.sub(i, INTEGER(1)), loops.sub(j, INTEGER(1)), loops.sum_of(total)
