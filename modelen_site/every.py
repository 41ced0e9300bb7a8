"""Celery's beat by a clock that nobody sets."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from time import monotonic

from celery.schedules import schedstate, schedule

_STARTED, _MONOTONIC = datetime.now(UTC), monotonic()


def steady_now() -> datetime:
    """The time when this process started and what has passed since, whatever happens to the wall
    clock meanwhile."""
    return _STARTED + timedelta(seconds=monotonic() - _MONOTONIC)


class Every(schedule):
    """Due every so many seconds, also where the wall clock is set back by days.

    Celery's own schedule then stays silent until the clock gets to where it was: no lease expires
    and no round closes.
    """

    def __init__(self, seconds: float) -> None:
        super().__init__(timedelta(seconds=seconds), nowfun=steady_now)

    def is_due(self, last_run_at: datetime) -> schedstate:
        """A run in the future was written to beat's file before the clock was set back."""
        if last_run_at > steady_now():
            return schedstate(is_due=True, next=self.seconds)
        return super().is_due(last_run_at)

    def __reduce__(self) -> tuple[Callable[[float], "Every"], tuple[float]]:
        return Every, (self.seconds,)
