"""Geometry of the loss chart."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordination.live import chart as geometry
from coordination.live.chart import MAX_POINTS, nice_step


def _percents(values: list[str]) -> list[float]:
    return [float(value.removesuffix("%")) for value in values]


def loss_chart(points: list[tuple[int, float]]) -> dict:
    chart = geometry.loss_chart(points)
    assert chart is not None
    return chart


def test_no_point_no_chart():
    assert geometry.loss_chart([]) is None


def test_one_point_stands_in_the_middle():
    chart = loss_chart([(1, 2.5)])
    assert [dot["x"] for dot in chart["dots"]] == ["50.00%"]
    assert [tick["value"] for tick in chart["x_ticks"]] == [1]
    assert 0 < float(chart["dots"][0]["y"].removesuffix("%")) < 100


def test_higher_loss_is_drawn_higher_and_later_rounds_further_right():
    chart = loss_chart([(1, 4.0), (2, 3.0), (3, 2.0)])
    assert chart["line"] == "M0.00 0.00 L50.00 50.00 L100.00 100.00"
    assert _percents([dot["y"] for dot in chart["dots"]]) == [0, 50, 100]
    assert chart["area"].endswith("L100.00 100 L0.00 100 Z")


def test_ticks_are_round_numbers_at_their_places():
    chart = loss_chart([(1, 4.126), (12, 2.94)])
    assert [tick["value"] for tick in chart["y_ticks"]] == [2.5, 3.0, 3.5, 4.0, 4.5]
    assert [tick["at"] for tick in chart["y_ticks"]][0] == "100.00%"
    assert [tick["value"] for tick in chart["x_ticks"]] == [2, 4, 6, 8, 10, 12]


def test_summary_names_first_last_and_lowest():
    chart = loss_chart([(1, 4.0), (2, 1.5), (3, 2.0)])
    assert chart["first"] == {"round": 1, "loss": 4.0}
    assert chart["last"] == {"round": 3, "loss": 2.0}
    assert chart["lowest"] == 1.5


def test_a_long_run_keeps_only_its_last_dot():
    chart = loss_chart([(number, 3.0 - number / 100) for number in range(1, MAX_POINTS + 1)])
    assert [dot["round"] for dot in chart["dots"]] == [MAX_POINTS]
    assert chart["line"].count("L") == MAX_POINTS - 1


@pytest.mark.parametrize(
    ("span", "intervals", "step"),
    [(1.2, 4, 0.5), (4, 4, 1), (0.04, 4, 0.01), (11, 6, 2), (3, 6, 0.5), (700, 4, 200), (0, 4, 1)],
)
def test_nice_steps(span, intervals, step):
    assert nice_step(span, intervals) == pytest.approx(step)


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=200))
def test_every_chart_stays_inside_its_frame_and_has_few_ticks(losses):
    chart = loss_chart(list(enumerate(losses, start=1)))
    numbers = [float(number) for number in re.findall(r"-?\d+\.\d+", chart["line"])]
    assert all(-0.01 <= number <= 100.01 for number in numbers)
    assert 1 <= len(chart["x_ticks"]) <= 8
    assert 2 <= len(chart["y_ticks"]) <= 8
    assert all(-0.01 <= at <= 100.01 for at in _percents([t["at"] for t in chart["y_ticks"]]))
