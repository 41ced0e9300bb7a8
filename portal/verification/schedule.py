"""Verb: queue the checks that are due. How often that is, ``grace`` says."""

from datetime import datetime, timedelta

from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from portal.models import Attempt, Coordinator, CoordinatorQuerySet, Proof, State
from portal.verification.check import LOST_AFTER
from portal.verification.codes import Code
from portal.verification.errors import TooOften
from portal.verification.request import nudge, request_check

# A queue that lives in memory forgets; the row does not.
NUDGE_AFTER = timedelta(seconds=30)
BATCH = 100


def schedule_checks() -> None:
    """Queue the checks that are due and take up those that were lost. Run it twice a minute."""
    now = timezone.now()
    _drop_lost(now)
    waiting = Attempt.objects.filter(started_at=None, queued_at__lte=now - NUDGE_AFTER)
    for attempt_id in waiting.order_by("queued_at").values_list("pk", flat=True)[:BATCH]:
        nudge(attempt_id)
    for coordinator in due(now)[:BATCH]:
        _queue(coordinator, now)


def due(now: datetime) -> CoordinatorQuerySet:
    """Approved coordinators whose proof is to be renewed and that no check is under way for.

    An unproven address is not among them: its operator asks for a check once the line is there.
    """
    running = Attempt.objects.filter(coordinator=OuterRef("pk"), finished_at=None)
    return Coordinator.objects.filter(
        Q(next_check_at=None) | Q(next_check_at__lte=now),
        ~Exists(running),
        state=State.APPROVED,
        proof__in=(Proof.VERIFIED, Proof.STALE),
    ).order_by("next_check_at")


def _queue(coordinator: Coordinator, now: datetime) -> None:
    try:
        request_check(coordinator, None, Attempt.Trigger.SCHEDULE)
    except TooOften as error:
        later = now + timedelta(seconds=error.retry_after_s)
        Coordinator.objects.filter(pk=coordinator.pk).update(next_check_at=later)


def _drop_lost(now: datetime) -> None:
    lost = Attempt.objects.filter(started_at__lte=now - LOST_AFTER, finished_at=None)
    lost.update(finished_at=now, code=Code.INTERRUPTED)
