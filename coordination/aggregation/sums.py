"""Weighted sums of vectors and the distance of two, in float64 and in one pass."""

from functools import cache

import numpy as np
from llvmlite.ir import Value

from coordination.aggregation.sweep import Block, kernel
from worker_client.contract.native import (
    ADDRESS,
    DOUBLE,
    DOUBLES,
    FLOATS,
    INTEGER,
    LANES,
    Function,
    Loops,
    address,
    compiled,
)

ZEROS = DOUBLES([0.0] * LANES)


@cache
def weighted_sum() -> Function:
    """A kernel of ``(start, merged, factors)``.

    Fills float32 ``merged`` with ``factors[:-1] @ rows / factors[-1]``, summed in float64 in the
    order of the rows and rounded once; zeros of either sign make 0.0. ``start`` is filled with row
    0. ``factors`` are float64 ``[n + 1]``.
    """

    def write(loops: Loops, block: Block, arguments: list[Value]) -> None:
        start, merged, factors = (loops.inttoptr(value, ADDRESS) for value in arguments)

        def factor(number: Value) -> Value:
            value = loops.load(loops.at(factors, number, DOUBLE), typ=DOUBLE)
            return loops.everywhere(value, DOUBLES)

        divisor = factor(block.n)

        def one(column: Value) -> None:
            def add(number: Value, total: Value) -> list[Value]:
                values = loops.floats(block.row(loops, number), column)
                return [loops.fadd(total, loops.fmul(loops.fpext(values, DOUBLES), factor(number)))]

            (total,) = loops.loop(INTEGER(0), block.n, INTEGER(1), add, ZEROS)
            place = loops.add(block.column, column)
            loops.put(loops.floats(block.rows, column), start, place)
            loops.put(loops.fptrunc(loops.fdiv(total, divisor), FLOATS), merged, place)

        loops.loop(INTEGER(0), block.columns, INTEGER(LANES), one)

    return kernel(write, 3)


def squared_distance(a: np.ndarray, b: np.ndarray) -> float:
    """Squared L2 norm of ``a - b`` for arrays of one length, taken as float32, in float64: no
    finite values overflow it, so that an answer which is not finite means that ``a`` or ``b`` is
    not. Always the same for the same values.

    Raises:
        ValueError: the lengths differ.
    """
    if a.shape != b.shape:
        raise ValueError(f"{a.shape} and {b.shape} are no vectors of one length")
    # The compiled loop trusts its addresses.
    a, b = (np.ascontiguousarray(vector, np.float32) for vector in (a, b))
    whole = len(a) // LANES * LANES
    rest = np.subtract(a[whole:], b[whole:], dtype=np.float64)
    sums = np.zeros(LANES)
    if whole:
        _squares()(address(a), address(b), address(sums), whole)
    return float(sums.sum() + rest @ rest)


@cache
def _squares() -> Function:
    def write(loops: Loops, *given: Value) -> None:
        a, b, out = (loops.inttoptr(value, ADDRESS) for value in given[:3])

        def add(column: Value, total: Value) -> list[Value]:
            x, y = (loops.fpext(loops.floats(row, column), DOUBLES) for row in (a, b))
            apart = loops.fsub(x, y)
            return [loops.fadd(total, loops.fmul(apart, apart))]

        (total,) = loops.loop(INTEGER(0), given[3], INTEGER(LANES), add, ZEROS)
        loops.store(total, out, align=8)

    return compiled(write, 4)
