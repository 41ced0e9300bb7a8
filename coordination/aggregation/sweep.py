"""Reads blocks of many files and works on each while the processor's cache holds it, in one call:
no other thread of Python is waited for between the blocks."""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from llvmlite import ir
from llvmlite.ir import Value

from worker_client.contract.native import (
    ADDRESS,
    FLOATS,
    INTEGER,
    LANES,
    Function,
    Loops,
    compiled,
)


class Block(NamedTuple):
    """What a kernel gets of ``n`` rows of float32 ``columns`` at an address, a multiple of
    ``LANES`` of them and zeros behind the last; ``column`` is the first's place in what is swept.
    """

    rows: Value
    stride: Value
    n: Value
    columns: Value
    column: Value

    def row(self, loops: Loops, number: Value) -> Value:
        return loops.row(self.rows, self.stride, number)


def kernel(write: Callable[[Loops, Block, list[Value]], None], arguments: int) -> Function:
    """Compiles what ``write(loops, block, arguments)`` writes: a function of a block and of the
    address of ``arguments`` 64-bit integers."""

    def whole(loops: Loops, rows: Value, *others: Value) -> None:
        *size, given = others
        block = Block(loops.inttoptr(rows, ADDRESS), *size)
        places = loops.inttoptr(given, ADDRESS)
        values = [loops.at(places, INTEGER(i), INTEGER) for i in range(arguments)]
        write(loops, block, [loops.load(value, typ=INTEGER) for value in values])

    return compiled(whole, len(Block._fields) + 1)


@cache
def sweep() -> Function:
    """``(descriptors, offsets, rows, stride, n, start, stop, step, origin, kernel, arguments)``.

    Reads values ``start`` to ``stop`` of ``n`` files into the rows, ``step`` at a time, and calls
    the kernel with each block; ``column`` counts from ``origin``. Behind each row there is room
    for ``LANES`` more values. Answers where it stopped: before ``stop`` where a file ended or a
    signal came between.

    Args:
        descriptors, offsets: addresses of int64 ``[n]``; offsets in bytes.
        rows: address of float32 ``[n, step]``, ``stride`` bytes from row to row.
        kernel, arguments: addresses.
    """
    return compiled(_write, 11)


def _write(loops: Loops, *given: Value) -> Value:
    descriptors, offsets, rows = (loops.inttoptr(value, ADDRESS) for value in given[:3])
    stride, n, start, stop, step, origin, function, arguments = given[3:]
    pread = ir.Function(
        loops.module,
        ir.FunctionType(INTEGER, [ir.IntType(32), ADDRESS, INTEGER, INTEGER]),
        "pread",
    )
    called = ir.FunctionType(INTEGER, [INTEGER] * (len(Block._fields) + 1))
    work = loops.inttoptr(function, called.as_pointer())

    def block(first: Value) -> None:
        columns = loops.sub(loops.lesser(loops.add(first, step), stop), first)
        wanted, position = (loops.mul(values, INTEGER(4)) for values in (columns, first))

        def read(number: Value, full: Value) -> list[Value]:
            descriptor, offset = (
                loops.load(loops.at(values, number, INTEGER), typ=INTEGER)
                for values in (descriptors, offsets)
            )
            row = loops.row(rows, stride, number)
            file = loops.trunc(descriptor, ir.IntType(32))
            got = loops.call(pread, [file, row, wanted, loops.add(offset, position)])
            loops.put(FLOATS([0.0] * LANES), row, columns)
            is_full = loops.zext(loops.icmp_signed("==", got, wanted), INTEGER)
            return [loops.add(full, is_full)]

        (full,) = loops.loop(INTEGER(0), n, INTEGER(1), read, INTEGER(0))
        with loops.if_then(loops.icmp_signed("<", full, n), likely=False):
            loops.ret(first)
        whole = loops.and_(loops.add(columns, INTEGER(LANES - 1)), INTEGER(-LANES))
        place = loops.sub(first, origin)
        loops.call(work, [loops.ptrtoint(rows, INTEGER), stride, n, whole, place, arguments])

    loops.loop(start, stop, step, block)
    return stop
