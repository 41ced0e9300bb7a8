"""Who may ask for a check, and how often."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import User
from portal.listings.errors import NotAllowed, WrongState
from portal.models import Attempt, Coordinator, Proof, State
from portal.verification.errors import TooOften
from portal.verification.request import PER_COORDINATOR, PER_HOST, PER_OPERATOR, request_check
from tests.portal.verification.conftest import queued
from tests.portal.verification.wire import HOST

OWNER, ADMIN, SCHEDULE = Attempt.Trigger.OWNER, Attempt.Trigger.ADMIN, Attempt.Trigger.SCHEDULE
Capture = Callable[..., AbstractContextManager[list[Callable[[], Any]]]]


def finished(coordinator: Coordinator, count: int, ago: timedelta, trigger: str = OWNER) -> None:
    now = timezone.now()
    for number in range(count):
        queued_at = now - ago + timedelta(seconds=number)
        attempt = queued(coordinator, coordinator.address)
        Attempt.objects.filter(pk=attempt.pk).update(
            queued_at=queued_at, started_at=queued_at, finished_at=queued_at, trigger=trigger
        )


def test_its_operator_asks(
    coordinator: Coordinator, operator: User, django_capture_on_commit_callbacks: Capture
) -> None:
    with django_capture_on_commit_callbacks() as callbacks:
        attempt = request_check(coordinator, operator, OWNER)
    assert (attempt.trigger, attempt.address) == (OWNER, coordinator.address)
    assert (attempt.started_at, attempt.code) == (None, "")
    assert len(callbacks) == 1, "the task is queued once the row is there"


def test_strangers_do_not(coordinator: Coordinator, stranger: User, admin: User) -> None:
    for by, trigger in ((stranger, OWNER), (admin, OWNER), (stranger, ADMIN)):
        with pytest.raises(NotAllowed):
            request_check(coordinator, by, trigger)
    assert not Attempt.objects.exists()


def test_an_admin_asks_as_one(coordinator: Coordinator, admin: User, operator: User) -> None:
    assert request_check(coordinator, admin, ADMIN).trigger == ADMIN
    with pytest.raises(NotAllowed):
        request_check(coordinator, operator, ADMIN)


@pytest.mark.parametrize("state", [State.REJECTED, State.WITHDRAWN])
def test_not_when_the_listing_has_ended(
    coordinator: Coordinator, operator: User, state: State
) -> None:
    Coordinator.objects.update(state=state)
    with pytest.raises(WrongState):
        request_check(coordinator, operator, OWNER)


def test_pressing_twice_is_one_check(coordinator: Coordinator, operator: User) -> None:
    first = request_check(coordinator, operator, OWNER)
    assert request_check(coordinator, operator, OWNER) == first


def test_a_check_of_the_former_address_is_not_the_one_asked_for(
    coordinator: Coordinator, operator: User
) -> None:
    first = request_check(coordinator, operator, OWNER)
    Coordinator.objects.update(address="https://new.example.org")
    assert request_check(coordinator, operator, OWNER) != first


def test_limit_per_coordinator(coordinator: Coordinator, operator: User) -> None:
    most, window = PER_COORDINATOR
    finished(coordinator, most, timedelta(minutes=4))
    with pytest.raises(TooOften) as caught:
        request_check(coordinator, operator, OWNER)
    left = (window - timedelta(minutes=4)).total_seconds()
    assert left - 30 < caught.value.retry_after_s <= left
    Attempt.objects.order_by("queued_at").first().delete()
    assert request_check(coordinator, operator, OWNER)


def test_the_limit_passes(coordinator: Coordinator, operator: User) -> None:
    finished(coordinator, 20, PER_COORDINATOR[1] + timedelta(minutes=1))
    assert request_check(coordinator, operator, OWNER)


def test_scheduled_checks_use_up_nobodys_button(coordinator: Coordinator, operator: User) -> None:
    finished(coordinator, 20, timedelta(minutes=1), SCHEDULE)
    assert request_check(coordinator, operator, OWNER)


def test_limit_per_operator_over_all_coordinators(coordinator: Coordinator, operator: User) -> None:
    others = [
        Coordinator.objects.create(
            operator=operator, slug=f"s{n}", address=f"https://s{n}.example.org", proof_token=str(n)
        )
        for n in range(PER_OPERATOR[0] // 5)
    ]
    for other in others:
        finished(other, 5, timedelta(minutes=30))
    with pytest.raises(TooOften):
        request_check(coordinator, operator, OWNER)


def test_limit_per_host_over_all_operators(
    coordinator: Coordinator, operator: User, stranger: User
) -> None:
    other = Coordinator.objects.create(
        operator=stranger, slug="other", address=f"https://{HOST}", proof_token="o"
    )
    finished(other, PER_HOST[0], timedelta(minutes=30))
    for by, trigger in ((operator, OWNER), (None, SCHEDULE)):
        with pytest.raises(TooOften):
            request_check(coordinator, by, trigger)
    Attempt.objects.update(address=f"https://{HOST}.example.net")
    assert request_check(coordinator, operator, OWNER)


def test_asking_changes_no_proof(coordinator: Coordinator, operator: User) -> None:
    request_check(coordinator, operator, OWNER)
    coordinator.refresh_from_db()
    assert coordinator.proof == Proof.UNVERIFIED


@pytest.mark.django_db(transaction=True)
def test_a_check_is_queued_while_the_broker_is_away(draft: Coordinator, broker_away: None) -> None:
    attempt = request_check(draft, draft.operator, OWNER)
    assert Attempt.objects.filter(pk=attempt.pk, finished_at=None).exists()
