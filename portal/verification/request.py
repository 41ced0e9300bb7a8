"""Verb: ask for a check of a coordinator's address. The check itself runs in Celery."""

import math
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from portal.listings.errors import WrongState
from portal.listings.transition import demand_admin, demand_operator
from portal.models import ENDED, Attempt, Coordinator
from portal.verification.errors import TooOften

# How many in how long: a button must not make a battering ram of the portal.
PER_COORDINATOR = (5, timedelta(minutes=10))
PER_OPERATOR = (30, timedelta(hours=1))
PER_HOST = (30, timedelta(hours=1))


@transaction.atomic
def request_check(coordinator: Coordinator, by: User | None, trigger: Attempt.Trigger) -> Attempt:
    """Queue a check and return its row; one that is under way is returned instead.

    ``by`` is None for the schedule, which only the limit per host holds back.

    Raises:
        NotAllowed: ``by`` is neither its operator nor, with the trigger admin, an admin.
        WrongState: the listing has ended.
        TooOften: says when to try again.
    """
    _demand_allowed(coordinator, by, trigger)
    coordinator = _lock(coordinator)
    if coordinator.state in ENDED:
        raise WrongState(_("The listing has ended; there is nothing to verify."))
    running = coordinator.attempts.filter(finished_at=None, address=coordinator.address).first()
    if running:
        return running
    now = timezone.now()
    _demand_rare(coordinator, by, now)
    attempt = coordinator.attempts.create(
        trigger=trigger, address=coordinator.address, queued_at=now
    )
    nudge(attempt.pk)
    return attempt


def nudge(attempt_id: int) -> None:
    """Tell Celery of a queued attempt once the transaction is committed; twice does no harm."""
    from portal.tasks import check_address  # tasks import the verbs, this one included

    # Robust: the attempt stands, and is found by the schedule while the broker is away.
    # No partial: Django names what failed by its __qualname__.
    transaction.on_commit(lambda: check_address.delay(attempt_id), robust=True)


def _lock(coordinator: Coordinator) -> Coordinator:
    """Lock all that share a limit with the coordinator, so that counting and adding are one step.

    By primary key, as everything that locks several does.
    """
    sharing = Q(pk=coordinator.pk) | _on_host(coordinator)
    if coordinator.operator_id is not None:
        sharing |= Q(operator=coordinator.operator_id)
    rows = Coordinator.objects.select_for_update().filter(sharing).order_by("pk")
    return next(row for row in rows if row.pk == coordinator.pk)


def _on_host(coordinator: Coordinator) -> Q:
    """Coordinators or attempts whose address is on the same host and port."""
    root = "/".join(coordinator.address.split("/")[:3])
    return Q(address=root) | Q(address__startswith=f"{root}/")


def _demand_allowed(coordinator: Coordinator, by: User | None, trigger: Attempt.Trigger) -> None:
    if trigger == Attempt.Trigger.ADMIN:
        assert by is not None
        demand_admin(by)
    elif trigger == Attempt.Trigger.OWNER:
        assert by is not None
        demand_operator(coordinator, by)


def _demand_rare(coordinator: Coordinator, by: User | None, now: datetime) -> None:
    attempts = Attempt.objects.all()
    asked = attempts.exclude(trigger=Attempt.Trigger.SCHEDULE)
    if by is not None:
        _demand_below(PER_COORDINATOR, asked.filter(coordinator=coordinator), now)
        _demand_below(PER_OPERATOR, asked.filter(coordinator__operator=by), now)
    _demand_below(PER_HOST, attempts.filter(_on_host(coordinator)), now)


def _demand_below(limit: tuple[int, timedelta], attempts: QuerySet[Attempt], now: datetime) -> None:
    most, window = limit
    recent = attempts.filter(queued_at__gt=now - window).order_by("-queued_at")
    times = list(recent.values_list("queued_at", flat=True)[:most])
    if len(times) == most:
        free_at = times[-1] + window
        raise TooOften(max(1, math.ceil((free_at - now).total_seconds())))
