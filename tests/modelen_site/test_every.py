"""What beat does when the wall clock is set."""

import pickle
from datetime import timedelta

import pytest
from celery import Celery
from celery.beat import Scheduler

from modelen_site.every import Every, steady_now


def test_is_due_when_the_seconds_have_passed() -> None:
    at = steady_now()
    assert not Every(60).is_due(at - timedelta(seconds=30)).is_due
    assert 29 < Every(60).is_due(at - timedelta(seconds=30)).next <= 30
    assert Every(60).is_due(at - timedelta(seconds=61)) == (True, 60)


def test_a_last_run_in_the_future_does_not_keep_it_silent() -> None:
    assert Every(60).is_due(steady_now() + timedelta(days=2)) == (True, 60)


def test_comes_back_from_the_file_of_beat() -> None:
    kept = pickle.loads(pickle.dumps(Every(2.5)))
    assert type(kept) is Every and kept.seconds == 2.5
    assert not kept.is_due(steady_now()).is_due


@pytest.mark.parametrize("days", [2, -3])
def test_beat_goes_on_by_the_same_measure_when_the_clock_is_set(
    days: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = Celery(broker="memory://", set_as_current=False)
    app.conf.timezone = "UTC"
    sent: list[str] = []
    app.conf.beat_schedule = {
        name: {"task": name, "schedule": Every(seconds)} for name, seconds in (("a", 1), ("b", 2))
    }
    beat = Scheduler(app)
    beat.apply_async = lambda entry, **options: sent.append(entry.name)
    passed = 0.0
    monkeypatch.setattr("modelen_site.every.monotonic", lambda: passed)
    started = steady_now()
    for entry in beat.schedule.values():
        entry.last_run_at = started
    monkeypatch.setattr(app, "now", lambda: started + timedelta(days=days))  # the wall clock
    for tick in range(1, 41):
        passed = tick / 4 + 0.01
        beat.tick()
    assert sent.count("a") in (9, 10) and sent.count("b") in (4, 5)
