"""How long a proven address may fail, and when it is looked at again. Pure: times in, answers out.

A host that is down keeps its place for a week. One that answers and does not show the line may be
in other hands, so it has a day. Old success is never trusted for ever.
"""

import random
from datetime import datetime, timedelta

from portal.models import Proof

EVERY = timedelta(days=1)
RETRIES = (
    timedelta(minutes=2),
    timedelta(minutes=15),
    timedelta(hours=1),
    timedelta(hours=6),
)
JITTER = 0.1
STALE_AFTER = timedelta(hours=24)
DELISTED_AFTER = timedelta(days=7)
DENIED_STALE_AFTER = timedelta(hours=1)
DENIED_DELISTED_AFTER = timedelta(hours=24)
# One failure may be a blip; the second, two minutes later, is told.
MAIL_AT_FAILURE = 2
REMIND_AFTER = timedelta(days=3)


def next_check(now: datetime, failures: int) -> datetime:
    """Return when to look again after ``failures`` in a row (0: it went well)."""
    wait = RETRIES[min(failures, len(RETRIES)) - 1] if failures else EVERY
    return now + wait * random.uniform(1 - JITTER, 1 + JITTER)


def proof_after(failures: int, failing: timedelta, denied: timedelta | None) -> Proof:
    """Return what a proven address is after ``failures`` in a row.

    ``failing`` is the time since the first of them; ``denied`` the time since the host first
    answered without the line, None if it does not answer now.
    """

    def past(limit: timedelta, denied_limit: timedelta) -> bool:
        return failing >= limit or (denied is not None and denied >= denied_limit)

    # Time alone does not delist: this site may itself have been down meanwhile.
    if failures > len(RETRIES) and past(DELISTED_AFTER, DENIED_DELISTED_AFTER):
        return Proof.UNVERIFIED
    return Proof.STALE if past(STALE_AFTER, DENIED_STALE_AFTER) else Proof.VERIFIED
