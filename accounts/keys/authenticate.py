"""Verb: recognise a key."""

import hmac
from datetime import datetime, timedelta

from django.db.models import Q
from django.utils import timezone

from accounts.keys import format
from accounts.models import ApiKey

# Often enough to see whether a key is in use, without a write in every request.
USE_NOTED_EVERY = timedelta(minutes=10)


def find_key(secret: str) -> ApiKey | None:
    """Return the live key of an active owner that ``secret`` is, its owner and coordinator loaded.

    Notes that it is used. Junk is told by its shape and checksum, without a query.
    """
    if not format.well_formed(secret):
        return None
    keys = ApiKey.objects.select_related("owner", "coordinator")
    key = keys.filter(key_id=format.public_id(secret)).first()
    if key is None or not hmac.compare_digest(key.digest, format.digest(secret)):
        return None
    if not key.is_live or not key.owner.is_active:
        return None
    _note_use(key, timezone.now())
    return key


def _note_use(key: ApiKey, now: datetime) -> None:
    long_ago = now - USE_NOTED_EVERY
    if key.last_used_at and key.last_used_at > long_ago:
        return
    # Conditional, so that many requests at once write once.
    unnoted = Q(last_used_at__isnull=True) | Q(last_used_at__lte=long_ago)
    ApiKey.objects.filter(unnoted, pk=key.pk).update(last_used_at=now)
    key.last_used_at = now
