"""Weighted sums and distances against the same arithmetic in numpy, to the last bit."""

from pathlib import Path

import numpy as np
import pytest

from coordination.aggregation.passes import over_slices
from coordination.aggregation.sums import squared_distance, weighted_sum
from tests.coordination.aggregation.files import vector_file
from worker_client.contract.native import LANES


def summed(folder: Path, rows: np.ndarray, factors: list[float]) -> np.ndarray:
    files = [vector_file(folder / str(i), row) for i, row in enumerate(rows)]

    def one(piece):
        start, merged = np.full((2, piece.end + LANES), np.nan, np.float32)
        piece.sweep(weighted_sum(), start, merged, np.array(factors, np.float64))
        assert np.array_equal(start[: piece.end], rows[0])
        return merged[: piece.end]

    (found,) = over_slices(files, one)
    return found


@pytest.mark.parametrize("columns", [1, 16, 1000])
@pytest.mark.parametrize("n", [1, 2, 33])
def test_sums_in_float64_in_the_order_of_the_rows(tmp_path: Path, n: int, columns: int) -> None:
    random = np.random.default_rng(n)
    rows = (1e4 ** random.standard_normal((n, columns))).astype(np.float32)
    factors = [*random.standard_normal(n), 3.0]
    expected = np.zeros(columns)
    for row, factor in zip(rows, factors[:-1], strict=True):
        expected += row.astype(np.float64) * factor
    assert np.array_equal(summed(tmp_path, rows, factors), (expected / 3.0).astype(np.float32))


def test_zeros_of_both_signs_make_a_positive_one(tmp_path: Path) -> None:
    zeros = np.full((2, 40), -0.0, np.float32)
    assert not np.signbit(summed(tmp_path, zeros, [1.0, 1.0, 1.0])).any()


@pytest.mark.parametrize("n", [0, 1, 15, 16, 17, 1000])
def test_the_squared_distance(n: int) -> None:
    a, b = np.random.default_rng(n).standard_normal((2, n), np.float32)
    exact = float(np.sum((a.astype(np.float64) - b) ** 2))
    assert squared_distance(a, b) == pytest.approx(exact, rel=1e-12)


def test_the_squared_distance_overflows_for_no_finite_value() -> None:
    largest = np.full(1000, np.finfo(np.float32).max, np.float32)
    expected = 1000 * (2 * float(largest[0])) ** 2
    assert squared_distance(largest, -largest) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("place", [0, 50, 99])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_makes_the_distance_so(place: int, value: float) -> None:
    a = np.ones(100, np.float32)
    a[place] = value
    assert not np.isfinite(squared_distance(a, np.ones(100, np.float32)))


def test_the_squared_distance_of_other_arrays_than_the_loop_takes() -> None:
    a, b = np.random.default_rng(0).standard_normal((2, 200))
    wanted = squared_distance(a.astype(np.float32), b.astype(np.float32))
    assert squared_distance(a, b) == wanted
    spread = np.zeros(400, np.float32)
    spread[::2] = a
    assert squared_distance(spread[::2], b.astype(np.float32)) == wanted
    with pytest.raises(ValueError, match="one length"):
        squared_distance(a, b[:-1])
