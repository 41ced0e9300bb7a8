"""Verb: notice who has fallen silent. Safe to run often, twice, and from two processes."""

from datetime import datetime

from django.db import transaction
from django.utils import timezone

from accounts import mail
from portal.heartbeats.grace import late_after, offline_after
from portal.heartbeats.receive import wants_mail
from portal.models import Coordinator, CoordinatorQuerySet, Presence


def watch() -> None:
    """Move the silent from online to late and from late to offline; the owner of one that went
    offline is mailed once, since only one caller makes the move."""
    now = timezone.now()
    online = Coordinator.objects.filter(presence=Presence.ONLINE)
    online.filter(heartbeat_at__lt=now - late_after()).update(presence=Presence.LATE)
    silent = _silent(now - offline_after())
    for pk in silent.values_list("pk", flat=True):
        _move_offline(pk, now - offline_after())


def _silent(since: datetime) -> CoordinatorQuerySet:
    return Coordinator.objects.filter(presence=Presence.LATE, heartbeat_at__lt=since)


@transaction.atomic
def _move_offline(pk: int, since: datetime) -> None:
    if not _silent(since).filter(pk=pk).update(presence=Presence.OFFLINE):
        return
    coordinator = Coordinator.objects.select_related("operator").get(pk=pk)
    if owner := wants_mail(coordinator):
        mail.send(owner, "presence_offline", coordinator=coordinator)
