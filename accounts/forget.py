"""Verb: forget from where deeds were done, of which the rest of their audit rows stays."""

from datetime import timedelta

from django.conf import settings
from django.db.models import Q, QuerySet
from django.utils import timezone

from accounts.models import AuditEvent, User


def forget_old_origins() -> int:
    """Empty IP and user agent of rows older than the setting's days; returns how many had some."""
    before = timezone.now() - timedelta(days=settings.AUDIT_ORIGIN_DAYS)
    return _forget(AuditEvent.objects.filter(at__lt=before))


def forget_person(user: User) -> None:
    """Empty IP and user agent of what ``user`` did, and of what nobody in particular did with
    their keys or to their account."""
    targets = [f"user:{user.pk}"]
    targets += [f"key:{key_id}" for key_id in user.api_keys.values_list("key_id", flat=True)]
    nobody_s = Q(actor=None, target__in=targets)
    _forget(AuditEvent.objects.filter(Q(actor=user) | nobody_s))


def _forget(events: QuerySet[AuditEvent]) -> int:
    told = events.filter(Q(ip__isnull=False) | ~Q(user_agent=""))
    return told.update(ip=None, user_agent="")
