"""Outer optimisers against the formulas of their papers, over rounds and through files."""

import io
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from coordination.aggregation.merge import Contribution, MergePlan, merge
from coordination.aggregation.outer import OUTER, Adam, Nesterov, Outer, Sgd, Yogi
from tests.coordination.aggregation.files import vector_file

COUNT, ROUNDS = 70_001, 5
Variance = Callable[[np.ndarray, np.ndarray], np.ndarray]


def results_of(number: int) -> np.ndarray:
    return np.random.default_rng(number).standard_normal((2, COUNT)).astype(np.float32)


def through_files(outer: Outer, folder: Path) -> np.ndarray:
    """The weights after ``ROUNDS`` merges, each started from what the last one wrote."""
    w, state = np.zeros(COUNT, np.float32), []
    for number in range(ROUNDS):
        parts = [
            Contribution(vector_file(folder / f"r{i}", row))
            for i, row in enumerate(results_of(number))
        ]
        start = vector_file(folder / "w", w)
        out, states = io.BytesIO(), [io.BytesIO() for _ in outer.state_names]
        merge(start, state, parts, MergePlan(outer=outer), out.write, [s.write for s in states])
        w = np.frombuffer(out.getvalue(), np.float32)
        state = [
            vector_file(folder / f"s{i}", np.frombuffer(s.getvalue(), np.float32))
            for i, s in enumerate(states)
        ]
    return w


def fedopt(outer: Adam, variance: Variance) -> np.ndarray:
    """Algorithm 2 of Reddi et al. in float64, in memory."""
    w, m, v = np.zeros(COUNT), np.zeros(COUNT), np.full(COUNT, outer.tau**2)
    for number in range(ROUNDS):
        delta = results_of(number).astype(np.float64).mean(axis=0) - w
        m = outer.beta1 * m + (1 - outer.beta1) * delta
        v = variance(v, delta**2)
        w = w + outer.lr * m / (np.sqrt(v) + outer.tau)
    return w


def test_adam_is_the_papers(tmp_path: Path) -> None:
    outer = Adam(lr=0.1, beta1=0.8, beta2=0.95, tau=1e-2)
    expected = fedopt(outer, lambda v, squared: 0.95 * v + 0.05 * squared)
    np.testing.assert_allclose(through_files(outer, tmp_path), expected, rtol=1e-5, atol=1e-6)


def test_yogi_is_the_papers(tmp_path: Path) -> None:
    outer = Yogi(lr=0.1, beta1=0.8, beta2=0.95, tau=1e-2)
    expected = fedopt(outer, lambda v, squared: v - 0.05 * squared * np.sign(v - squared))
    np.testing.assert_allclose(through_files(outer, tmp_path), expected, rtol=1e-5, atol=1e-6)


def test_yogi_forgets_a_large_step_more_slowly_than_adam() -> None:
    w = np.zeros(1, np.float32)
    after = {}
    for name in ("adam", "yogi"):
        outer = OUTER[name](lr=0.1)
        state: Sequence[np.ndarray] = ()
        for merged in (10.0, *[0.01] * 50):
            _, state = outer.step(w, w + np.float32(merged), state)
        after[name] = float(state[1][0])
    assert after["yogi"] > 1.5 * after["adam"]


def test_plain_descent_of_rate_one_takes_the_merged_result(tmp_path: Path) -> None:
    expected = results_of(ROUNDS - 1).astype(np.float64).mean(axis=0)
    np.testing.assert_allclose(through_files(Sgd(1.0), tmp_path), expected, atol=1e-6)


def test_nesterov_without_momentum_is_plain_descent(tmp_path: Path) -> None:
    plain = through_files(Sgd(0.7), tmp_path)
    assert np.array_equal(through_files(Nesterov(0.7, 0.0), tmp_path), plain)


def test_state_that_does_not_fit_the_optimiser_is_an_error(tmp_path: Path) -> None:
    start = vector_file(tmp_path / "w", [0.0])
    with pytest.raises(ValueError, match="1 state vectors where"):
        merge(start, [start], [Contribution(start)], MergePlan(outer=Adam()), len, [len, len])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"beta1": 1.0}, "beta1"),
        ({"beta2": -0.1}, "beta2"),
        ({"tau": 0.0}, "tau"),
        ({"lr": float("nan")}, "lr"),
    ],
)
def test_senseless_parameters_are_refused(values: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=f"outer {message}"):
        Adam(**values)
