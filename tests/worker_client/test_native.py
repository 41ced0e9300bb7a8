"""Compiled loops: what they compute, and that they live while they run."""

import gc
from threading import Thread

import numpy as np
import pytest
from llvmlite import ir

from worker_client.contract.native import (
    ADDRESS,
    INTEGER,
    LANES,
    Function,
    Loops,
    address,
    compiled,
)


def sleeper() -> Function:
    """Sleeps for so many microseconds and answers 7."""

    def write(loops: Loops, microseconds: ir.Value) -> ir.Value:
        word = ir.IntType(32)
        usleep = ir.Function(loops.module, ir.FunctionType(word, [word]), "usleep")
        loops.call(usleep, [loops.trunc(microseconds, word)])
        return INTEGER(7)

    return compiled(write, 1)


def test_a_loop_carries_values() -> None:
    def write(loops: Loops, start: ir.Value, stop: ir.Value) -> ir.Value:
        (total,) = loops.loop(start, stop, INTEGER(3), lambda i, t: [loops.add(t, i)], INTEGER(0))
        return total

    total = compiled(write, 2)
    assert total(0, 10) == 0 + 3 + 6 + 9
    assert total(5, 6) == 5
    assert total(5, 5) == 5  # once at least


def test_lanes_are_read_and_written_where_they_belong() -> None:
    def write(loops: Loops, values: ir.Value) -> None:
        row = loops.inttoptr(values, ADDRESS)
        loops.put(loops.floats(row, INTEGER(1)), row, INTEGER(1 + LANES))

    values = np.arange(2 * LANES + 2, dtype=np.float32)
    expected = values.copy()
    expected[1 + LANES : -1] = values[1 : 1 + LANES]
    compiled(write, 1)(address(values))
    assert np.array_equal(values, expected)


def test_a_function_that_nobody_else_keeps_lives_while_it_runs() -> None:
    """Two threads that compile the same at once keep one of the two."""
    answers: list[int] = []
    threads = [Thread(target=lambda: answers.append(sleeper()(200_000))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(20):
        gc.collect()
        sleeper()  # takes the place of what was let go
    for thread in threads:
        thread.join()
    assert answers == [7] * 4


def test_what_llvm_does_not_take_is_an_error() -> None:
    def write(loops: Loops, value: ir.Value) -> ir.Value:
        return loops.inttoptr(value, ADDRESS)  # not the integer that was promised

    with pytest.raises(RuntimeError):
        compiled(write, 1)
