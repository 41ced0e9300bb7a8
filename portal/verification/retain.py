"""Verb: forget old evidence, so that years of daily checks do not fill the database."""

from datetime import timedelta

from django.db.models import F, OuterRef, Subquery
from django.db.models.functions import Coalesce
from django.utils import timezone

from portal.models import Attempt
from portal.verification.codes import Code

KEPT = timedelta(days=90)


def forget_old_evidence() -> None:
    """Drop attempts that ended long ago, except the last success of each coordinator."""
    successes = Attempt.objects.filter(coordinator=OuterRef("coordinator"), code=Code.OK)
    last = Subquery(successes.order_by("-finished_at", "-pk").values("pk")[:1])
    old = Attempt.objects.filter(finished_at__lt=timezone.now() - KEPT)
    old.annotate(last_success=Coalesce(last, 0)).exclude(pk=F("last_success")).delete()
