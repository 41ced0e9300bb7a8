"""Days of checks, one after the other as the schedule has them, and what they do to a listing."""

from datetime import UTC, datetime, timedelta

import pytest
from django.core import mail

from accounts.models import AuditEvent, User
from portal.models import Attempt, Coordinator, Proof, State
from portal.verification.codes import Code, explain
from portal.verification.outcome import apply

START = datetime(2030, 1, 1, tzinfo=UTC)
H, D = timedelta(hours=1), timedelta(days=1)


@pytest.fixture
def verified(coordinator: Coordinator) -> Coordinator:
    Coordinator.objects.update(
        state=State.APPROVED,
        approved_at=START,
        proof=Proof.VERIFIED,
        verified_at=START,
        next_check_at=START,
        name="Köy & Şehir",
    )
    coordinator.refresh_from_db()
    return coordinator


def due(coordinator: Coordinator) -> datetime:
    assert coordinator.next_check_at
    return coordinator.next_check_at


def check(coordinator: Coordinator, code: Code, now: datetime) -> None:
    Attempt.objects.create(
        coordinator=coordinator,
        address=coordinator.address,
        queued_at=now,
        started_at=now,
        finished_at=now,
        code=code,
    )
    apply(coordinator, code, now)
    coordinator.refresh_from_db()


def run(coordinator: Coordinator, code: Code, until: datetime) -> None:
    """Let each check come when the one before it said, up to ``until``."""
    while coordinator.next_check_at and coordinator.next_check_at <= until:
        check(coordinator, code, coordinator.next_check_at)


@pytest.fixture
def sent(mailoutbox, django_capture_on_commit_callbacks):
    """Mails, sent when the block ends."""
    return django_capture_on_commit_callbacks


def subjects() -> list[str]:
    return [message.subject.removeprefix("[Modelen] ") for message in mail.outbox]


def verbs() -> list[str]:
    return list(AuditEvent.objects.order_by("id").values_list("verb", flat=True))


FAILING = "The address of Köy & Şehir can no longer be verified"
REMINDER = "The address of Köy & Şehir has been failing for three days"
DELISTED = "Köy & Şehir has left the directory"
RECOVERED = "The address of Köy & Şehir is verified again"


def test_success_is_renewed_daily(verified: Coordinator) -> None:
    run(verified, Code.OK, START + 10 * D)
    assert 8 <= verified.attempts.count() <= 13
    assert (verified.proof, verified.failures) == (Proof.VERIFIED, 0)
    assert verified.verified_at and START + 8 * D < verified.verified_at <= START + 10 * D
    assert 0.9 * D <= due(verified) - verified.verified_at <= 1.1 * D
    assert verbs() == []


def test_a_blip_is_told_to_nobody(verified: Coordinator, sent) -> None:
    with sent(execute=True):
        check(verified, Code.CONNECT_TIMEOUT, START)
        assert (verified.proof, verified.failing_since) == (Proof.VERIFIED, START)
        check(verified, Code.OK, due(verified))
    assert (verified.failures, verified.failing_since, subjects()) == (0, None, [])


def test_a_host_that_is_down_has_a_week(verified: Coordinator, sent) -> None:
    with sent(execute=True):
        run(verified, Code.CONNECT_TIMEOUT, START + 23 * H)
        assert (verified.proof, verified.is_listed) == (Proof.VERIFIED, True)
    assert subjects() == [FAILING]
    with sent(execute=True):
        run(verified, Code.DNS_NOT_FOUND, START + 2 * D)
        assert (verified.proof, verified.is_listed) == (Proof.STALE, True)
    assert subjects() == [FAILING]
    with sent(execute=True):
        run(verified, Code.HTTP_STATUS, START + 6 * D)
        assert (verified.proof, verified.is_listed) == (Proof.STALE, True)
    assert subjects() == [FAILING, REMINDER]
    with sent(execute=True):
        run(verified, Code.TLS_INVALID, START + 8 * D)
    assert (verified.proof, verified.is_listed) == (Proof.UNVERIFIED, False)
    assert verified.state == State.APPROVED, "nothing is deleted or decided"
    assert (verified.next_check_at, verified.failing_since) == (None, None)
    assert subjects() == [FAILING, REMINDER, DELISTED]
    assert verbs() == ["verification_stale", "verification_lost"]


def test_a_host_without_the_line_has_a_day(verified: Coordinator, sent) -> None:
    with sent(execute=True):
        run(verified, Code.NOT_FOUND, START + 0.5 * H)
        assert verified.proof == Proof.VERIFIED
        run(verified, Code.NOT_FOUND, START + 20 * H)
        assert (verified.proof, verified.is_listed) == (Proof.STALE, True)
        run(verified, Code.WRONG_CONTENT, START + 32 * H)
    assert (verified.proof, verified.is_listed) == (Proof.UNVERIFIED, False)
    assert subjects() == [FAILING, DELISTED]
    assert "one hour" in mail.outbox[0].body and "seven days" not in mail.outbox[0].body


def test_the_short_grace_begins_when_the_host_is_back(verified: Coordinator) -> None:
    run(verified, Code.CONNECT_REFUSED, START + 4 * D)
    back = due(verified)
    run(verified, Code.WRONG_CONTENT, back + 17 * H)
    assert verified.proof == Proof.STALE
    run(verified, Code.WRONG_CONTENT, back + 32 * H)
    assert verified.proof == Proof.UNVERIFIED


def test_recovery_is_told_to_whom_the_failure_was(verified: Coordinator, sent) -> None:
    with sent(execute=True):
        run(verified, Code.SLOW_RESPONSE, START + 2 * D)
        assert verified.proof == Proof.STALE
        check(verified, Code.OK, START + 3 * D)
    assert (verified.proof, verified.failures, verified.failing_since) == (Proof.VERIFIED, 0, None)
    assert subjects() == [FAILING, RECOVERED]
    assert verbs() == ["verification_stale", "verify"]


def test_a_delisted_one_is_back_with_its_next_success(verified: Coordinator) -> None:
    run(verified, Code.NOT_FOUND, START + 3 * D)
    assert not verified.is_listed
    check(verified, Code.OK, START + 9 * D)
    assert (verified.proof, verified.is_listed) == (Proof.VERIFIED, True)
    assert START + 9 * D < due(verified)


def test_stale_stays_stale_until_it_succeeds(verified: Coordinator) -> None:
    run(verified, Code.WRONG_CONTENT, START + 10 * H)
    assert verified.proof == Proof.STALE
    check(verified, Code.CONNECT_TIMEOUT, due(verified))
    assert verified.proof == Proof.STALE


@pytest.mark.parametrize("code", [Code.INTERRUPTED, Code.OUTDATED])
def test_what_was_our_own_doing_counts_for_nothing(verified: Coordinator, code: Code) -> None:
    check(verified, code, START)
    assert (verified.failures, verified.proof) == (0, Proof.VERIFIED)


def test_an_unproven_address_that_fails_stays_what_it_was(coordinator: Coordinator, sent) -> None:
    with sent(execute=True):
        for hours in range(4):
            check(coordinator, Code.NOT_FOUND, START + hours * H)
    assert (coordinator.proof, coordinator.failures) == (Proof.UNVERIFIED, 0)
    assert (coordinator.next_check_at, subjects(), verbs()) == (None, [], [])


def test_mails_can_be_switched_off(verified: Coordinator, operator: User, sent) -> None:
    User.objects.filter(pk=operator.pk).update(mails_verification=False)
    with sent(execute=True):
        run(verified, Code.NOT_FOUND, START + 3 * D)
    assert (verified.proof, subjects()) == (Proof.UNVERIFIED, [])


@pytest.mark.parametrize("code", [Code.NOT_FOUND, Code.CONNECT_TIMEOUT])
def test_a_mail_says_what_is_wrong_and_what_to_do(verified: Coordinator, sent, code: Code) -> None:
    with sent(execute=True):
        run(verified, code, START + 4 * D)
    for message in mail.outbox:
        assert message.to == ["operator@example.org"]
        assert str(explain(code).sentence) in message.body
        assert str(explain(code).remedy) in message.body
        assert f"modelen-verify=v1 demo {verified.proof_token}" in message.body
        assert "&amp;" not in f"{message.subject}{message.body}"
        assert "\n\n\n" not in message.body
    assert len(mail.outbox) == 2


def test_a_coordinator_without_operator_is_checked_all_the_same(
    verified: Coordinator, sent
) -> None:
    Coordinator.objects.update(operator=None)
    verified.refresh_from_db()
    with sent(execute=True):
        run(verified, Code.NOT_FOUND, START + 3 * D)
    assert (verified.proof, subjects()) == (Proof.UNVERIFIED, [])
