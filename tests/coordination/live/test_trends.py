"""Charts of what rounds took."""

import re
from datetime import timedelta

import pytest
from django.db.models import F
from hypothesis import given
from hypothesis import strategies as st

from coordination.live import trends as module
from coordination.live.chart import stacked_chart
from coordination.live.trends import LAYERS, MAX_COLUMNS
from coordination.models import Round, RoundTally
from tests.coordination.live.test_snapshot import _publish


def chart(rounds, **layers) -> dict:
    found = stacked_chart(rounds, layers)
    assert found is not None
    return found


def trends(run) -> dict[str, dict]:
    found = module.trends(run)
    assert None not in found.values()
    return {name: drawn for name, drawn in found.items() if drawn}


def test_no_round_no_chart():
    assert stacked_chart([], {"up": []}) is None


def test_layers_lie_on_each_other_and_each_is_the_outline_of_all_below():
    drawn = chart([1, 2], low=[1, 2], high=[1, 0])
    assert drawn["low"] == "M0 100V50.0H50.0V0.0H100.0V100Z"
    assert drawn["high"] == "M0 100V0.0H50.0V0.0H100.0V100Z"
    assert drawn["most"] == 2


def test_ticks_stand_under_the_middle_of_their_columns():
    drawn = chart(list(range(1, 11)), up=[7] * 10)
    assert drawn["x_ticks"] == [
        {"at": f"{10 * number - 5:.2f}%", "value": number} for number in (2, 4, 6, 8, 10)
    ]
    assert [tick["value"] for tick in drawn["y_ticks"]] == [0, 5, 10]


def test_nothing_at_all_is_drawn_as_nothing():
    drawn = chart([4], expired=[0], refused=[0])
    assert drawn["refused"] == "M0 100V100.0H100.0V100Z"
    assert [tick["value"] for tick in drawn["y_ticks"]] == [0, 1]


@given(st.lists(st.tuples(st.integers(0, 10**15), st.floats(0, 1e6)), min_size=1, max_size=80))
def test_every_chart_stays_inside_its_frame_and_has_few_ticks(values):
    low, high = zip(*values, strict=True)
    drawn = chart(list(range(3, 3 + len(values))), low=low, high=high)
    for name in ("low", "high"):
        numbers = [float(number) for number in re.findall(r"-?\d+\.?\d*", drawn[name])]
        assert all(-0.01 <= number <= 100.01 for number in numbers)
    assert 1 <= len(drawn["x_ticks"]) <= 8
    assert 2 <= len(drawn["y_ticks"]) <= 5
    assert all(0 < float(tick["at"][:-1]) < 100 for tick in drawn["x_ticks"])


@pytest.mark.django_db
def test_each_published_round_has_a_column(run):
    _publish(run, range(1, 4))
    drawn = trends(run)
    assert drawn.keys() == LAYERS.keys()
    assert drawn["workers"]["last"] == {"round": 3, "total": 5, "gpu": 1, "cpu": 2, "other": 2}
    assert drawn["speed"]["last"]["speed"] == 2700 / 90
    assert drawn["bytes"]["last"] == {"round": 3, "total": 6e6, "up": 3e6, "down": 3e6}
    assert drawn["lost"]["last"] == {
        "round": 3,
        "total": 3,
        "expired": 1,
        "refused": 2,
        "screened": 0,
    }


@pytest.mark.django_db
def test_a_long_run_is_drawn_in_stretches(run):
    _publish(run, range(1, 3001))
    drawn = trends(run)
    columns = drawn["bytes"]["up"].count("H")
    assert columns == MAX_COLUMNS
    assert drawn["bytes"]["most"] == pytest.approx(1e6 * (2951 + 3000) / 2 + 3e6, rel=0.01)
    assert drawn["speed"]["most"] == pytest.approx(10 * (2951 + 3000) / 2, rel=0.01)
    assert drawn["bytes"]["last"] == {"round": 3000, "total": 3003e6, "up": 3e9, "down": 3e6}
    assert len(str(drawn)) < 10_000


@pytest.mark.django_db
def test_rounds_that_nobody_measured_or_that_took_no_time_do_no_harm(run):
    _publish(run, range(1, 4))
    RoundTally.objects.filter(round__number=1).update(tokens=None, workers=None)
    Round.objects.filter(number=3).update(published_at=F("opened_at") - timedelta(seconds=5))
    drawn = trends(run)
    assert drawn["workers"]["cpu"].count("H") == 2
    assert drawn["speed"]["last"]["speed"] == 0
