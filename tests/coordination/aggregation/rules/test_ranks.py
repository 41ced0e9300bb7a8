"""Means of ranks of columns against plain sorting."""

from pathlib import Path

import numpy as np
import pytest

from coordination.aggregation.passes import over_slices
from coordination.aggregation.rules.network import batcher, selection
from coordination.aggregation.rules.ranks import NETWORK_ROWS, mean_of_ranks, mean_of_sorted
from tests.coordination.aggregation.files import vector_file
from worker_client.contract.native import LANES

PARTS = {
    "median": lambda n: ((n - 1) // 2, n // 2 + 1),
    "middle half": lambda n: (n // 4, n - n // 4),
    "smallest": lambda n: (0, 1),
    "largest": lambda n: (n - 1, n),
    "all": lambda n: (0, n),
}


def by_network(
    folder: Path, start: np.ndarray, rows: np.ndarray, ranks: tuple[int, int], factors: np.ndarray
) -> np.ndarray:
    files = [vector_file(folder / str(i), row) for i, row in enumerate([start, *rows])]
    kernel = mean_of_ranks(len(rows), *ranks)

    def one(piece):
        origin, merged = np.full((2, piece.end + LANES), np.nan, np.float32)
        piece.sweep(kernel, origin, merged, factors)
        assert np.array_equal(origin[: piece.end], start)
        return merged[: piece.end]

    (found,) = over_slices(files, one)
    return found


# Few different values, so that ties are common, and columns no multiple of anything.
def ties(n: int, columns: int = 1717) -> np.ndarray:
    return np.random.default_rng(n).integers(-3, 4, (n, columns)).astype(np.float32)


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("n", [*range(1, 14), 31, 32, 33, NETWORK_ROWS])
def test_finds_the_wanted_ranks_of_every_column(tmp_path: Path, n: int, part: str) -> None:
    first, last = PARTS[part](n)
    rows, ones = ties(n), np.ones(1 + n, np.float32)
    exact = np.sort(rows, axis=0)[first:last].mean(axis=0, dtype=np.float64).astype(np.float32)
    assert np.array_equal(mean_of_sorted(rows, first, last), exact)
    found = by_network(tmp_path, np.zeros(rows.shape[1], np.float32), rows, (first, last), ones)
    assert np.array_equal(found, exact)


def test_rows_are_drawn_to_the_start_before(tmp_path: Path) -> None:
    random = np.random.default_rng(5)
    start, rows = random.standard_normal(999, np.float32), random.standard_normal((7, 999))
    rows, factors = rows.astype(np.float32), np.ones(8, np.float32)
    factors[[2, 5]] = 0.25, 0.7
    drawn = rows.copy()
    for number in (1, 4):
        drawn[number] = (rows[number] - start) * factors[1 + number] + start
    found = by_network(tmp_path, start, rows, (3, 4), factors)
    assert np.array_equal(found, np.median(drawn, axis=0))


def test_few_columns(tmp_path: Path) -> None:
    rows, ones = ties(5, columns=3), np.ones(6, np.float32)
    found = by_network(tmp_path, np.zeros(3, np.float32), rows, (2, 3), ones)
    assert np.array_equal(found, np.median(rows, axis=0))


@pytest.mark.parametrize("n", [2, 7, 32, 100])
def test_every_network_sorts(n: int) -> None:
    """By the 0-1 principle: a network that sorts all rows of zeros and ones sorts everything; of
    more than 12 rows, a sample."""
    random = np.random.default_rng(n)
    rows = np.array([[c >> i & 1 for c in range(1 << n)] for i in range(n)]) if n < 13 else None
    rows = random.integers(0, 2, (n, 4096)) if rows is None else rows
    for low, high in batcher(n):
        pair = rows[[low, high]]
        rows[low], rows[high] = pair.min(axis=0), pair.max(axis=0)
    assert (np.diff(rows, axis=0) >= 0).all()


def test_comparators_that_nothing_wanted_depends_on_are_left_out() -> None:
    assert len(list(batcher(32))) == 191
    assert len(selection(32, 15, 17)) < 160
    assert len(selection(32, 0, 1)) == 31  # a minimum needs every other row once
    assert selection(32, 0, 32) == ()
