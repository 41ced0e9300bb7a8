"""Verb: recognise a key."""

import hmac
from datetime import timedelta

from django.core.cache import cache
from django.db.models import Q
from django.utils import timezone

from accounts.audit import record
from accounts.keys import format
from accounts.models import ApiKey

# Often enough to see whether a key is in use, without a write in every request.
USE_NOTED_EVERY = timedelta(minutes=10)
# A revoked or expired key in use is a leak or a forgotten program: once a day is enough to see it.
REFUSAL_NOTED_EVERY = timedelta(days=1)


def find_key(secret: str) -> ApiKey | None:
    """Return the live key of an active owner that ``secret`` is, its owner and coordinator loaded.

    Notes that it is used. Junk is told by its shape and checksum, without a query.
    """
    key = recognise(secret)
    if key is None or not key.is_live:
        return None
    _note_use(key)
    return key


def find_ended_key(secret: str) -> ApiKey | None:
    """Return the revoked or expired key that ``secret`` is, and put its use into the audit."""
    key = recognise(secret)
    if key is None or key.is_live:
        return None
    if cache.add(f"key-refused:{key.pk}", True, REFUSAL_NOTED_EVERY.total_seconds()):
        record("refuse", f"key:{key.key_id}")
    return key


def recognise(secret: str) -> ApiKey | None:
    """Return the key of an active owner that ``secret`` is, live or not."""
    if not format.well_formed(secret):
        return None
    keys = ApiKey.objects.select_related("owner", "coordinator")
    key = keys.filter(key_id=format.public_id(secret)).first()
    if key is None or not hmac.compare_digest(key.digest, format.digest(secret)):
        return None
    return key if key.owner.is_active else None


def _note_use(key: ApiKey) -> None:
    now = timezone.now()
    long_ago = now - USE_NOTED_EVERY
    if key.last_used_at and key.last_used_at > long_ago:
        return
    # Conditional, so that many requests at once write once.
    unnoted = Q(last_used_at__isnull=True) | Q(last_used_at__lte=long_ago)
    ApiKey.objects.filter(unnoted, pk=key.pk).update(last_used_at=now)
    key.last_used_at = now
