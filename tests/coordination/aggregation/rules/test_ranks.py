"""Ranks of columns against plain sorting."""

import numpy as np
import pytest

from coordination.aggregation.rules.ranks import NETWORK_ROWS, batcher, ranks, selection


@pytest.mark.parametrize("n", [*range(1, NETWORK_ROWS + 2), 128])
@pytest.mark.parametrize("part", ["median", "middle half", "smallest", "largest"])
def test_finds_the_wanted_ranks_of_every_column(n: int, part: str) -> None:
    first, last = {
        "median": ((n - 1) // 2, n // 2 + 1),
        "middle half": (n // 4, n - n // 4),
        "smallest": (0, 1),
        "largest": (n - 1, n),
    }[part]
    # Few different values, so that ties are common, and columns no multiple of anything.
    rows = np.random.default_rng(n).integers(-3, 4, (n, 1717)).astype(np.float32)
    found = np.sort(np.stack(ranks(rows.copy(), first, last)), axis=0)
    assert np.array_equal(found, np.sort(rows, axis=0)[first:last])


def test_comparators_that_nothing_wanted_depends_on_are_left_out() -> None:
    assert len(list(batcher(32))) == 191
    assert len(selection(32, 15, 17)) < 160
    assert len(selection(32, 0, 1)) == 31  # a minimum needs every other row once
    assert selection(32, 0, 32) == ()
