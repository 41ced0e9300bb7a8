"""How many names one address may register in an hour.

Counted in the cache and nowhere else: who registered from where is nobody's business afterwards.
"""

from django.conf import settings
from django.core.cache import cache

from coordination.clock import now
from coordination.models import Run
from worker_client.contract.errors import Refusal, Refused

HOUR_S = 3600


def count_registration(run: Run, address: str) -> None:
    """Raises Refused TOO_MANY_NAMES beyond ``REGISTRATIONS_PER_HOUR`` of an address."""
    hour, elapsed = divmod(int(now().timestamp()), HOUR_S)
    key = f"kayit:{run.pk}:{address}:{hour}"
    cache.add(key, 0, timeout=HOUR_S)
    try:
        count = cache.incr(key)
    except ValueError:  # it expired in between
        return
    if count > settings.REGISTRATIONS_PER_HOUR:
        raise Refused(
            Refusal.TOO_MANY_NAMES,
            "too many pseudonyms were registered from this address; go on with one that you have,"
            " or come again later",
            retry_after=HOUR_S - elapsed,
        )
