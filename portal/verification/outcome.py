"""What a finished check changes: proof, next check, audit, mails. Call it inside a transaction."""

from datetime import datetime, timedelta

from accounts import mail
from accounts.audit import record
from portal.models import Coordinator, Proof, State
from portal.verification import challenge, grace
from portal.verification.codes import DENIALS, OURS, Code, explain

_FIELDS = ("proof", "verified_at", "next_check_at", "failing_since", "failures")


def apply(coordinator: Coordinator, code: Code, now: datetime) -> None:
    """Bring a locked coordinator up to date with the attempt that ended ``now`` with ``code``."""
    if code == Code.OK:
        _succeed(coordinator, now)
    elif code not in OURS and coordinator.proof != Proof.UNVERIFIED:
        _fail(coordinator, code, now)


def _succeed(coordinator: Coordinator, now: datetime) -> None:
    before, was_told = coordinator.proof, coordinator.failures >= grace.MAIL_AT_FAILURE
    coordinator.proof, coordinator.verified_at = Proof.VERIFIED, now
    coordinator.failures, coordinator.failing_since = 0, None
    _save(coordinator, now)
    if before != Proof.VERIFIED:
        record("verify", f"coordinator:{coordinator.slug}", former=before)
    if was_told:
        _tell(coordinator, "recovered", Code.OK)


def _fail(coordinator: Coordinator, code: Code, now: datetime) -> None:
    before = coordinator.proof
    since = coordinator.failing_since or now
    coordinator.failures, coordinator.failing_since = coordinator.failures + 1, since
    denied = _denied_for(coordinator, code, now)
    coordinator.proof = grace.proof_after(coordinator.failures, now - since, denied)
    if coordinator.proof == Proof.UNVERIFIED:
        _delist(coordinator, code, now)
        return
    coordinator.proof = Proof.STALE if before == Proof.STALE else coordinator.proof
    _save(coordinator, now)
    if coordinator.proof != before:
        record("verification_stale", f"coordinator:{coordinator.slug}", code=code)
    if coordinator.failures == grace.MAIL_AT_FAILURE:
        _tell(coordinator, "failing", code)
    elif _has_just_passed(coordinator, since + grace.REMIND_AFTER, now):
        _tell(coordinator, "reminder", code)


def _delist(coordinator: Coordinator, code: Code, now: datetime) -> None:
    coordinator.failures, coordinator.failing_since = 0, None
    _save(coordinator, now)
    record("verification_lost", f"coordinator:{coordinator.slug}", code=code)
    _tell(coordinator, "delisted", code)


def _save(coordinator: Coordinator, now: datetime) -> None:
    is_scheduled = coordinator.state == State.APPROVED and coordinator.proof != Proof.UNVERIFIED
    coordinator.next_check_at = (
        grace.next_check(now, coordinator.failures) if is_scheduled else None
    )
    coordinator.save(update_fields=_FIELDS)


def _denied_for(coordinator: Coordinator, code: Code, now: datetime) -> timedelta | None:
    """How long the host has answered without the line, from the evidence; ends ``now``."""
    if code not in DENIALS:
        return None
    finished = coordinator.attempts.filter(address=coordinator.address, finished_at__lte=now)
    denials = finished.filter(code__in=DENIALS)
    others = finished.exclude(code__in=DENIALS | OURS)
    if last_other := others.order_by("-finished_at").first():
        denials = denials.filter(finished_at__gt=last_other.finished_at)
    first = denials.order_by("finished_at").first()
    return now - first.finished_at if first and first.finished_at else timedelta(0)


def _has_just_passed(coordinator: Coordinator, point: datetime, now: datetime) -> bool:
    """Whether ``point`` lies between the check before this one and ``now``."""
    earlier = coordinator.attempts.filter(finished_at__lt=now).exclude(code__in=OURS)
    last = earlier.order_by("-finished_at").first()
    return point <= now and (last is None or last.finished_at is None or last.finished_at < point)


def _tell(coordinator: Coordinator, what: str, code: Code) -> None:
    operator = coordinator.operator
    if coordinator.state != State.APPROVED or operator is None or not operator.mails_verification:
        return
    mail.send(
        operator,
        f"verification_{what}",
        coordinator=coordinator,
        explanation=explain(code),
        is_denial=code in DENIALS,
        commands=challenge.commands(coordinator) if code != Code.ADDRESS_REFUSED else [],
    )
