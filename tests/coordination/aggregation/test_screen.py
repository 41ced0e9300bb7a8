import math
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordination.aggregation.screen import screen_norms

norms_lists = st.lists(st.floats(min_value=0, max_value=1e30), max_size=40)


@pytest.mark.parametrize(
    ("norms", "screened"),
    [
        ([], []),
        ([1.0], []),
        ([1.0, 1.0, 1.0, 1000.0], []),  # four results are too few to judge
        ([1.0, 1.0, 1.0, 1.0, 1000.0], [4]),
        ([1.1, 0.0, 0.9, 1.0, 1.05], [1]),
        ([9.0, 1.1, 0.0, 0.9, 1.0, 1.05, 1.02], [0, 2]),
        ([1.0, 1.0, 1.0, 1.0, 1.0000001], []),  # MAD is zero here
        ([1.0, 1.0, 1.0, 1.0, 1.5], []),  # half the median is the floor
        ([1.0, 1.0, 1.0, 1.0, 1.51], [4]),
        ([1.0, 1.0, 1.0, 1.0, 0.49], [4]),
        ([0.0, 0.0, 0.0, 0.0, 0.0], []),
        ([0.0, 0.0, 0.0, 1.0, 1.0], []),  # most did nothing: no yardstick
    ],
)
def test_screens_what_stands_apart(norms: list[float], screened: list[int]) -> None:
    assert screen_norms(norms) == screened


def test_the_threshold_is_five_robust_deviations() -> None:
    # median 10, MAD 2: five deviations are 5 * 1.4826 * 2 = 14.826
    others = [8.0, 8.0, 8.0, 10.0, 12.0, 12.0]
    assert screen_norms([*others, 24.82]) == []
    assert screen_norms([*others, 24.83]) == [6]


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("others", [0, 2, 8])
def test_what_is_not_finite_is_screened_at_any_count(bad: float, others: int) -> None:
    assert screen_norms([1.0] * others + [bad]) == [others]


def test_non_finite_norms_are_no_yardstick() -> None:
    assert screen_norms([math.nan, 1.0, math.inf, 1.0, 1.0, 1.0, 9.0]) == [0, 2, 6]


@given(norms_lists)
def test_never_screens_more_than_half(norms: list[float]) -> None:
    assert len(screen_norms(norms)) <= len(norms) // 2


@given(norms_lists, st.randoms())
def test_the_order_of_results_does_not_matter(norms: list[float], random: Random) -> None:
    order = list(range(len(norms)))
    random.shuffle(order)
    moved = [order[i] for i in screen_norms([norms[i] for i in order])]
    assert sorted(moved) == screen_norms(norms)


def test_honest_results_are_left_alone() -> None:
    rng = np.random.default_rng(0)
    rounds = [
        (1 + 0.1 * rng.standard_normal(n)).tolist() for n in (5, 8, 16, 64) for _ in range(200)
    ]
    assert not any(screen_norms(norms) for norms in rounds)
