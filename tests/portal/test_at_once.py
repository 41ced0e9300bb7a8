"""What two people or processes do in the same instant; on PostgreSQL they really meet."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial

import pytest
from django.core import mail
from django.core.exceptions import ValidationError
from django.utils import timezone

from accounts.models import AuditEvent, User
from portal.decisions import DECISIONS, decide
from portal.heartbeats.beat import Beat
from portal.heartbeats.presence import watch
from portal.heartbeats.receive import receive
from portal.listings.decide import approve, reject
from portal.listings.edit import edit
from portal.listings.errors import Outdated, Taken, WrongState
from portal.listings.submit import submit
from portal.models import Attempt, Coordinator, LossPoint, Presence, State
from portal.verification.errors import TooOften
from portal.verification.request import PER_HOST, PER_OPERATOR, request_check
from tests.at_once import at_once
from tests.portal.making import begin_draft, make_approved, make_listed

pytestmark = pytest.mark.django_db(transaction=True)

Call = Callable[[], object]
OWNER = Attempt.Trigger.OWNER


def attempted(call: Call) -> Exception | None:
    """What the call raised."""
    try:
        call()
    except Exception as error:
        return error
    return None


def refusals(calls: list[Call]) -> list[Exception]:
    """Make the calls at once; what was raised by those that failed."""
    outcomes = at_once([partial(attempted, call) for call in calls])
    return [error for error in outcomes if error is not None]


def seen(coordinator: Coordinator) -> Coordinator:
    """The row as somebody else has read it."""
    return Coordinator.objects.get(pk=coordinator.pk)


@pytest.fixture
def submitted(draft: Coordinator, operator: User) -> Coordinator:
    submit(draft, by=operator)
    return draft


def test_of_eight_decisions_one_is_made(submitted: Coordinator, admin: User) -> None:
    ways: list[Call] = []
    for number in range(4):
        ways.append(partial(approve, seen(submitted), admin))
        ways.append(partial(reject, seen(submitted), admin, f"no {number}"))
    failed = refusals(ways)
    assert len(failed) == 7
    assert {type(error) for error in failed} <= {WrongState, Outdated}
    submitted.refresh_from_db()
    verb = {State.APPROVED: "approve", State.REJECTED: "reject"}[State(submitted.state)]
    decisions = AuditEvent.objects.filter(verb__in=["approve", "reject"])
    assert [event.verb for event in decisions] == [verb]
    assert len(mail.outbox) == 1


def test_two_admins_in_the_queue(submitted: Coordinator, admin: User) -> None:
    """As the administration calls it: each is told, and one of them that it was too late."""

    def in_queue(name: str) -> str:
        revision = submitted.revision
        return decide(DECISIONS[name], seen(submitted), admin, "a reason", revision)

    told = at_once([partial(in_queue, "approve"), partial(in_queue, "request_changes")])
    assert sum(text == "" for text in told) == 1


def test_what_an_admin_approves_is_what_they_read(
    submitted: Coordinator, operator: User, admin: User
) -> None:
    failed = refusals(
        [
            partial(approve, seen(submitted), admin),
            partial(edit, seen(submitted), operator, description="Something else."),
        ]
    )
    assert [type(error) for error in failed] == [Outdated]
    submitted.refresh_from_db()
    was_edited = submitted.description == "Something else."
    assert (submitted.state == State.APPROVED) is not was_edited


def test_one_address_is_one_listings(operator: User, stranger: User) -> None:
    rivals: list[Call] = []
    for owner, slug in ((operator, "one"), (stranger, "two")):
        draft = begin_draft(owner, slug, address="https://wanted.example.org/c/run")
        rivals.append(partial(submit, draft, owner))
    failed = refusals(rivals)
    assert [type(error) for error in failed] == [Taken]
    assert isinstance(failed[0], Taken) and failed[0].field == "address"
    assert Coordinator.objects.filter(state=State.SUBMITTED).count() == 1


def test_one_short_name_is_one_drafts(operator: User, stranger: User) -> None:
    failed = refusals(
        [partial(begin_draft, owner, "wanted") for owner in (operator, stranger, operator)]
    )
    assert len(failed) == 2
    for error in failed:
        # Whoever comes a moment later is told by the check of the fields already.
        is_race = isinstance(error, Taken) and error.field == "slug"
        assert is_race or (isinstance(error, ValidationError) and "slug" in error.message_dict)
    assert Coordinator.objects.filter(slug="wanted").count() == 1


def test_a_host_is_not_asked_more_often_by_many_at_once(
    operator: User, stranger: User, admin: User
) -> None:
    owners = [operator, stranger] * 3
    asked = [
        make_approved(owner, admin, f"c{number}", address=f"https://one.example.org/c/c{number}")
        for number, owner in enumerate(owners)
    ]
    _used_up(asked[0], PER_HOST[0] - 1)
    failed = refusals([partial(request_check, it, it.operator, OWNER) for it in asked])
    assert [type(error) for error in failed] == [TooOften] * 5
    assert Attempt.objects.count() == PER_HOST[0]


def test_an_operator_does_not_ask_more_often_at_once(operator: User, admin: User) -> None:
    asked = [make_approved(operator, admin, f"c{number}") for number in range(6)]
    other = make_approved(operator, admin, "other")
    _used_up(other, PER_OPERATOR[0] - 1)
    failed = refusals([partial(request_check, it, operator, OWNER) for it in asked])
    assert [type(error) for error in failed] == [TooOften] * 5


def _used_up(coordinator: Coordinator, count: int) -> None:
    now = timezone.now()
    for _ in range(count):
        coordinator.attempts.create(
            trigger=OWNER,
            address=coordinator.address,
            queued_at=now,
            started_at=now,
            finished_at=now,
            code="ok",
        )


def test_the_newest_of_many_beats_stands(listed: Coordinator) -> None:
    seqs = (3, 8, 1, 6, 2, 7, 4, 5)
    assert not refusals(
        [partial(receive, seen(listed), Beat(n, "acik", round=n, loss=1.0)) for n in seqs]
    )
    listed.refresh_from_db()
    assert (listed.heartbeat_seq, listed.round) == (8, 8)
    assert LossPoint.objects.latest("round").round == 8


def test_many_watchers_send_one_mail(operator: User, admin: User) -> None:
    for number in range(3):
        listed = make_listed(operator, admin, f"c{number}")
        receive(listed, Beat(1, "acik"))
    long_ago = timezone.now() - timedelta(hours=1)
    Coordinator.objects.update(heartbeat_at=long_ago)
    mail.outbox.clear()
    assert not refusals([watch] * 4)
    assert set(Coordinator.objects.values_list("presence", flat=True)) == {Presence.OFFLINE}
    assert len(mail.outbox) == 3
