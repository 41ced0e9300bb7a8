"""Worker and beat as threads of this process, with the real queue in memory."""

import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from celery import shared_task

from modelen_site.celery import app
from modelen_site.embedded import running

WORKERS = {"celery-celery", "celery-checks"}

seen: list[str] = []
woken = threading.Event()
waiting = threading.Event()


@shared_task
def note(word: str) -> None:
    seen.append(word)
    woken.set()


@shared_task
def fail() -> None:
    raise RuntimeError("on purpose")


@shared_task
def wait_for_a_host() -> None:
    """As a check of an address does; ends when another task has run."""
    waiting.set()
    woken.wait(30)


@pytest.fixture(autouse=True)
def schedule() -> Iterator[dict[str, Any]]:
    """What beat wakes in a test: nothing, unless the test says so."""
    kept, app.conf.beat_schedule = app.conf.beat_schedule, {}
    seen.clear()
    woken.clear()
    waiting.clear()
    yield app.conf.beat_schedule
    app.conf.beat_schedule = kept


def threads_of_celery() -> set[str]:
    return {thread.name for thread in threading.enumerate()} & {*WORKERS, "Beat"}


def test_a_task_runs_and_then_nothing_is_left() -> None:
    with running(app):
        assert threads_of_celery() == {*WORKERS, "Beat"}
        note.delay("hello")
        assert woken.wait(20)
    assert seen == ["hello"]
    assert threads_of_celery() == set()


def test_it_can_start_again_and_takes_what_waited() -> None:
    note.delay("early")
    with running(app):
        assert woken.wait(20)
    assert seen == ["early"]


def test_a_failing_task_stops_nothing() -> None:
    with running(app):
        fail.delay()
        note.delay("after")
        assert woken.wait(20)


def test_a_slow_check_holds_up_nothing_else() -> None:
    with running(app):
        wait_for_a_host.apply_async(queue="checks")
        assert waiting.wait(20)
        note.delay("meanwhile")
        assert woken.wait(20)


def test_checks_have_a_queue_of_their_own() -> None:
    route = app.amqp.router.route({}, "portal.tasks.check_address")
    assert route["queue"].name == "checks"
    route = app.amqp.router.route({}, "coordination.tasks.merge_round")
    assert route["queue"].name == "celery"


def test_beat_wakes_what_is_due(schedule: dict[str, Any]) -> None:
    schedule["tick"] = {"task": note.name, "schedule": 0.1, "args": ["tick"]}
    with running(app):
        assert woken.wait(20)
    assert set(seen) == {"tick"}


def test_the_process_keeps_its_standard_output() -> None:
    before = sys.stdout
    with running(app):
        assert sys.stdout is before


def test_the_schedule_names_tasks_that_exist() -> None:
    import coordination.tasks  # noqa: F401
    from modelen_site.settings import CELERY_BEAT_SCHEDULE

    assert {entry["task"] for entry in CELERY_BEAT_SCHEDULE.values()} <= set(app.tasks)
