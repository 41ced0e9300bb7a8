"""Which checks are queued when."""

from datetime import timedelta
from typing import Any

import pytest
from celery import current_app
from django.conf import settings as site
from django.db import transaction
from django.utils import timezone

from portal.models import Attempt, Coordinator, Proof, State
from portal.tasks import check_address, schedule_checks
from portal.verification import check
from portal.verification.address import Origin
from portal.verification.check import LOST_AFTER
from portal.verification.codes import Code
from portal.verification.fetch import Fetched
from portal.verification.request import PER_HOST
from portal.verification.schedule import NUDGE_AFTER
from tests.portal.verification.conftest import queued
from tests.portal.verification.wire import Server

H = timedelta(hours=1)


@pytest.fixture
def nudged(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Ids that Celery was told, in place of a broker; a test's transaction is never committed."""
    told: list[int] = []
    monkeypatch.setattr(check_address, "delay", told.append)
    monkeypatch.setattr(transaction, "on_commit", lambda call, robust=False: call())
    return told


def put(coordinator: Coordinator, **values: object) -> None:
    fields = {"state": State.APPROVED, "proof": Proof.VERIFIED, "approved_at": timezone.now()}
    Coordinator.objects.filter(pk=coordinator.pk).update(**fields | values)


@pytest.mark.parametrize(
    ("values", "is_due"),
    [
        ({"next_check_at": None}, True),
        ({"due_in": -H}, True),
        ({"due_in": -H, "proof": Proof.STALE}, True),
        ({"due_in": H}, False),
        ({"due_in": -H, "proof": Proof.UNVERIFIED}, False),
        ({"due_in": -H, "state": State.SUBMITTED}, False),
        ({"due_in": -H, "state": State.SUSPENDED}, False),
        ({"due_in": -H, "state": State.WITHDRAWN}, False),
    ],
)
def test_what_is_due(coordinator: Coordinator, nudged: list[int], values, is_due: bool) -> None:
    if "due_in" in values:
        values = values | {"next_check_at": timezone.now() + values["due_in"]}
    put(coordinator, **{name: values[name] for name in values if name != "due_in"})
    schedule_checks()
    schedule_checks()
    assert [a.trigger for a in coordinator.attempts.all()] == ["schedule"] * is_due
    assert nudged == [a.pk for a in coordinator.attempts.all()], "once, however often it is called"


def test_a_queued_check_that_the_queue_forgot_is_told_again(
    coordinator: Coordinator, nudged: list[int]
) -> None:
    attempt = queued(coordinator)
    Attempt.objects.update(queued_at=timezone.now() - NUDGE_AFTER)
    schedule_checks()
    assert nudged == [attempt.pk]
    Attempt.objects.update(queued_at=timezone.now())
    schedule_checks()
    assert nudged == [attempt.pk]


def test_a_check_lost_with_its_process_is_replaced(
    coordinator: Coordinator, nudged: list[int]
) -> None:
    put(coordinator)
    lost = queued(coordinator)
    Attempt.objects.update(started_at=timezone.now() - LOST_AFTER)
    schedule_checks()
    lost.refresh_from_db()
    coordinator.refresh_from_db()
    assert (lost.code, coordinator.failures) == (Code.INTERRUPTED, 0)
    assert lost.finished_at and coordinator.attempts.exclude(pk=lost.pk).count() == 1


def test_a_lost_check_that_ends_after_all_changes_nothing(
    coordinator: Coordinator, serve_line: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempt = queued(coordinator)
    fetch = check.fetch

    def fetch_too_long(origin: Origin, target: str) -> Fetched:
        lost = Attempt.objects.filter(pk=attempt.pk)
        lost.update(finished_at=timezone.now(), code=Code.INTERRUPTED)
        return fetch(origin, target)

    monkeypatch.setattr(check, "fetch", fetch_too_long)
    check_address(attempt.pk)
    attempt.refresh_from_db()
    coordinator.refresh_from_db()
    assert (attempt.code, coordinator.proof) == (Code.INTERRUPTED, Proof.UNVERIFIED)
    assert len(serve_line.heads) == 1


def test_a_busy_host_is_asked_later(coordinator: Coordinator, nudged: list[int]) -> None:
    put(coordinator)
    now = timezone.now()
    for _ in range(PER_HOST[0]):
        queued(coordinator)
    Attempt.objects.update(queued_at=now - H / 2, started_at=now, finished_at=now)
    schedule_checks()
    coordinator.refresh_from_db()
    later = coordinator.next_check_at
    assert nudged == []
    assert later and now + H / 3 < later < now + H


def test_one_coordinator_against_the_rules_stops_no_other(
    coordinator: Coordinator, nudged: list[int], operator
) -> None:
    put(coordinator, address="http://127.0.0.1", next_check_at=timezone.now() - 2 * H)
    other = Coordinator.objects.create(
        operator=operator, slug="other", address="https://other.example.org", proof_token="o"
    )
    put(other, next_check_at=timezone.now() - H)
    schedule_checks()
    assert coordinator.attempts.count() == other.attempts.count() == 1


def test_beat_calls_it_often_enough() -> None:
    entry: dict[str, Any] = site.CELERY_BEAT_SCHEDULE["schedule-checks"]
    assert entry["task"] in current_app.tasks
    assert entry["schedule"].run_every <= NUDGE_AFTER
