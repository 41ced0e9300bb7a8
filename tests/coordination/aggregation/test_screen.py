import math
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordination.aggregation.screen import Evidence, Reason, screen, screen_norms
from coordination.aggregation.sketch import SKETCH_FLOATS

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


# --- All screens together ---------------------------------------------------------------------


def evidence(n: int, seed: int = 0) -> list[Evidence]:
    """Honest results: sketches with a common direction, different norms, times and digests."""
    rng = np.random.default_rng(seed)
    common = rng.standard_normal(SKETCH_FLOATS)
    found = []
    for i in range(n):
        sketch = (common + rng.standard_normal(SKETCH_FLOATS)).astype(np.float32)
        norm = float(np.linalg.norm(sketch))
        found.append(Evidence(norm, sketch, f"digest {i}", i, rng.uniform(30, 3000)))
    return found


@pytest.mark.parametrize("n", [1, 2, 3, 5, 32, 128])
def test_honest_results_all_stay(n: int) -> None:
    assert screen(evidence(n)) == {}


@pytest.mark.parametrize("n", [1, 2, 7])
def test_the_snapshot_as_it_was_is_left_out_whatever_the_number(n: int) -> None:
    results = evidence(n)
    results[0] = Evidence(0.0, np.zeros(SKETCH_FLOATS, np.float32), "snapshot", 0, 60.0)
    assert screen(results) == {0: Reason.UNCHANGED}


def test_of_equal_results_the_first_to_arrive_stays() -> None:
    results = evidence(2)
    results[0] = replace(results[1], order=5)
    results[1] = replace(results[1], order=3)
    assert screen(results) == {0: Reason.COPY}


def test_what_an_earlier_round_was_given_is_left_out() -> None:
    results = evidence(2)
    results[1] = replace(results[1], seen_before=True)
    assert screen(results) == {1: Reason.COPY}


@pytest.mark.parametrize("noise", [1e-6, 1e-3, 0.05])
def test_a_copy_with_noise_on_it_is_a_copy(noise: float) -> None:
    results = evidence(6)
    original = results[2].sketch
    assert original is not None
    disguise = np.random.default_rng(8).standard_normal(SKETCH_FLOATS).astype(np.float32)
    near = original + noise * disguise
    results[5] = replace(results[5], sketch=near, norm=float(np.linalg.norm(near)))
    assert screen(results) == {5: Reason.COPY}


def test_results_that_are_all_alike_are_no_copies() -> None:
    """Shards that teach the same thing: what is usual in a round is the measure."""
    rng = np.random.default_rng(2)
    common = 100 * rng.standard_normal(SKETCH_FLOATS)
    alike = [(common + rng.standard_normal(SKETCH_FLOATS)).astype(np.float32) for _ in range(6)]
    results = [
        Evidence(float(np.linalg.norm(sketch)), sketch, str(i), i) for i, sketch in enumerate(alike)
    ]
    assert screen(results) == {}


def test_what_came_in_a_hundredth_of_the_usual_time_is_left_out() -> None:
    results = [replace(result, seconds=1000.0) for result in evidence(6)]
    results[4] = replace(results[4], seconds=9.9)
    assert screen(results) == {4: Reason.TOO_FAST}
    results[4] = replace(results[4], seconds=10.1)
    assert screen(results) == {}


@pytest.mark.parametrize("unknown", [None, 0.0, -3.0])  # a clock that was set back
def test_times_that_say_nothing_are_not_compared(unknown: float | None) -> None:
    results = [replace(result, seconds=1000.0) for result in evidence(6)]
    results[0] = replace(results[0], seconds=unknown)
    assert screen(results) == {}


def test_an_update_against_all_others_is_left_out() -> None:
    results = evidence(8)
    for i in (1, 6):
        sketch = results[i].sketch
        assert sketch is not None
        results[i] = replace(results[i], sketch=-sketch)
    assert screen(results) == {1: Reason.DIRECTION, 6: Reason.DIRECTION}


def test_without_a_common_direction_none_is_against_it() -> None:
    rng = np.random.default_rng(4)
    sketches = rng.standard_normal((40, SKETCH_FLOATS)).astype(np.float32)
    results = [Evidence(64.0, sketch, str(i), i) for i, sketch in enumerate(sketches)]
    assert screen(results) == {}


def test_each_is_left_out_for_the_first_reason_that_holds() -> None:
    results = [replace(result, seconds=1000.0) for result in evidence(9)]
    results[3] = replace(results[2], order=20, seconds=1.0)
    results[4] = replace(results[4], norm=1e9)
    assert screen(results) == {3: Reason.COPY, 4: Reason.NORM}


def test_results_from_before_sketches_are_still_screened() -> None:
    results = [replace(result, sketch=None) for result in evidence(6)]
    results[1] = replace(results[1], norm=1e9)
    assert screen(results) == {1: Reason.NORM}
