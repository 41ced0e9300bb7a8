"""How much of the last 90 days a coordinator was heard from."""

from datetime import UTC, datetime, time, timedelta

from django.db.models import F, Sum
from django.utils import timezone

from portal.heartbeats.grace import late_after
from portal.models import Coordinator, UptimeDay

DAYS = 90
KEPT_DAYS = DAYS + 2


def credit(coordinator: Coordinator, now: datetime) -> None:
    """Count the time since its last heartbeat, as far as that beat vouches for it, as online."""
    if (start := coordinator.heartbeat_at) is None:
        return
    end = min(now, start + late_after())
    while start < end:
        midnight = _start_of(start + timedelta(days=1))
        _add(coordinator, start, min(end, midnight) - start)
        start = midnight


def uptime_90(coordinator: Coordinator) -> float | None:
    """The share of the last 90 days, or of the time since its first heartbeat, from 0 to 1;
    None before the first."""
    first = coordinator.first_heartbeat_at
    if first is None or coordinator.heartbeat_at is None:
        return None
    now = timezone.now()
    # Whole days, so that what is summed and what it is divided by are the same stretch.
    since = max(first, _start_of(now - timedelta(days=DAYS - 1)))
    days = coordinator.uptime_days.filter(day__gte=since.astimezone(UTC).date())
    online = days.aggregate(sum=Sum("online"))["sum"] or timedelta()
    online += min(now - coordinator.heartbeat_at, late_after())
    span = now - since
    return min(1.0, online / span) if span > timedelta() else 1.0


def forget_old_days() -> None:
    """Drop the days that no uptime counts any more."""
    oldest = timezone.now().astimezone(UTC).date() - timedelta(days=KEPT_DAYS)
    UptimeDay.objects.filter(day__lt=oldest).delete()


def _add(coordinator: Coordinator, start: datetime, length: timedelta) -> None:
    day = start.astimezone(UTC).date()
    row, created = UptimeDay.objects.get_or_create(
        coordinator=coordinator, day=day, defaults={"online": length}
    )
    if not created:
        UptimeDay.objects.filter(pk=row.pk).update(online=F("online") + length)


def _start_of(moment: datetime) -> datetime:
    return datetime.combine(moment.astimezone(UTC).date(), time.min, UTC)
