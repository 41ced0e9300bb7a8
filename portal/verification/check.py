"""Verb: carry out a queued check. Claim the row, fetch without any transaction, conclude."""

from datetime import timedelta

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone

from portal.models import ENDED, Attempt, Coordinator
from portal.verification import challenge
from portal.verification.address import parse
from portal.verification.codes import Code
from portal.verification.fetch import Fetched, fetch
from portal.verification.outcome import apply
from portal.verification.request import nudge

# Over all processes of the site, so that slow hosts cannot hold every worker.
MOST_AT_ONCE = 4
# A fetch ends within 10 s; what has not by now was lost with its process.
LOST_AFTER = timedelta(minutes=2)


def run_check(attempt_id: int) -> None:
    """Check the address of one attempt, once however often it is called.

    An attempt stays queued while too many run or one is at the same host; whatever ends then tells
    those that wait, and the schedule tells them again.
    """
    attempt = _claim(attempt_id)
    if attempt is None:
        return
    coordinator = attempt.coordinator
    fetched = _look(coordinator, attempt.address)
    if fetched.body is not None:
        fetched.code = challenge.judge(fetched.body, coordinator)
    _conclude(attempt, coordinator, fetched)
    _nudge_waiting()


@transaction.atomic
def _claim(attempt_id: int) -> Attempt | None:
    # These rows are the lock: of two processes that count at once, both would see a free place.
    list(Attempt.objects.select_for_update().filter(finished_at=None).order_by("pk"))
    attempt = Attempt.objects.select_related("coordinator").filter(pk=attempt_id).first()
    if attempt is None or _is_busy(attempt):
        return None
    free = Attempt.objects.filter(pk=attempt_id, started_at=None, finished_at=None)
    return attempt if free.update(started_at=timezone.now()) else None


def _is_busy(attempt: Attempt) -> bool:
    since = timezone.now() - LOST_AFTER
    running = Attempt.objects.filter(started_at__gt=since, finished_at=None)
    addresses = list(running.values_list("address", flat=True)[:MOST_AT_ONCE])
    return len(addresses) == MOST_AT_ONCE or _root(attempt.address) in map(_root, addresses)


def _nudge_waiting() -> None:
    """A place is free: without this, as many checks as run at once would be all of a beat's."""
    waiting = Attempt.objects.filter(started_at=None, finished_at=None).order_by("queued_at")
    for attempt_id in waiting.values_list("pk", flat=True)[:MOST_AT_ONCE]:
        nudge(attempt_id)


def _root(address: str) -> str:
    return "/".join(address.split("/")[:3])


def _look(coordinator: Coordinator, address: str) -> Fetched:
    if coordinator.address != address or coordinator.state in ENDED:
        return Fetched(Code.OUTDATED)
    try:
        origin, _path = parse(address)
    except ValidationError:
        return Fetched(Code.ADDRESS_REFUSED)
    return fetch(origin, challenge.PATH)


@transaction.atomic
def _conclude(attempt: Attempt, asked: Coordinator, fetched: Fetched) -> None:
    # What was fetched proves the address and token of then, whatever they are now.
    rows = Coordinator.objects.select_for_update().filter(
        pk=asked.pk, address=attempt.address, proof_token=asked.proof_token, slug=asked.slug
    )
    coordinator = rows.exclude(state__in=ENDED).first()
    code = fetched.code if coordinator else Code.OUTDATED
    now = timezone.now()
    concluded = Attempt.objects.filter(pk=attempt.pk, finished_at=None).update(
        finished_at=now,
        code=code,
        hops=fetched.evidence(),
        received_bytes=None if fetched.body is None else len(fetched.body),
    )
    if concluded and coordinator:
        apply(coordinator, code, now)
