"""Pause a run and take it up again."""

from datetime import timedelta

from django.db import transaction

from coordination.clock import now
from coordination.models import Round, Run, touch
from coordination.rounds.close import close_if_ready


def pause_run(run: Run, reason: str) -> bool:
    """Stop leasing and merging; work under way may still be delivered. False if not open."""
    opened = Run.objects.filter(pk=run.pk, state=Run.State.OPEN)
    if not opened.update(state=Run.State.PAUSED, pause_reason=reason[:300]):
        return False
    touch(run.pk)
    return True


@transaction.atomic
def resume_run(run: Run) -> bool:
    """Open a paused or ready run; its unpublished round gets a fresh deadline and fresh tries."""
    current = Round.objects.select_for_update().filter(run=run, state=Round.State.OPEN).first()
    waiting = Run.objects.filter(pk=run.pk, state__in=(Run.State.PAUSED, Run.State.READY))
    if not waiting.update(state=Run.State.OPEN, pause_reason=""):
        return False
    if current:
        current.deadline_at = now() + timedelta(seconds=run.round_seconds)
        current.reopenings = 0
        current.save(update_fields=["deadline_at", "reopenings"])
        close_if_ready(current.pk)
    touch(run.pk)
    return True
