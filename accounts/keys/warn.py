"""Verb: tell owners whose keys will expire soon."""

from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from accounts import mail
from accounts.models import ApiKey

# Days before, the nearest first.
WARNINGS = (7, 30)


def warn_of_expiry() -> None:
    """Mail each owner once at each of WARNINGS; safe to run twice and from two processes."""
    now = timezone.now()
    soon = ApiKey.objects.select_related("owner").filter(
        revoked_at__isnull=True,
        replaced_by__isnull=True,
        expires_at__gt=now,
        expires_at__lte=now + timedelta(days=max(WARNINGS)),
    )
    for key in soon.iterator():
        if days := _due(key, now):
            _warn(key, days)


def _due(key: ApiKey, now: datetime) -> int | None:
    """The warning that a key is in, unless it was made to live no longer than that."""
    days = next(days for days in WARNINGS if key.expires_at <= now + timedelta(days=days))
    return days if key.expires_at - key.created_at > timedelta(days=days) else None


@transaction.atomic
def _warn(key: ApiKey, days: int) -> None:
    unwarned = Q(warned_days__isnull=True) | Q(warned_days__gt=days)
    if ApiKey.objects.filter(unwarned, pk=key.pk).update(warned_days=days):
        mail.send(key.owner, "key_expires", key=key)
