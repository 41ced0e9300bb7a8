"""Pause a run and take it up again."""

from datetime import timedelta

from django.db import transaction

from coordination.clock import now
from coordination.models import Round, Run, touch
from coordination.preparing.counts import is_preparing
from coordination.rounds.close import close_if_ready


def pause_run(run: Run, reason: str) -> bool:
    """Stop leasing and merging; work under way may still be delivered. False if not open,
    nor preparing its text."""
    goes_on = [Run.State.OPEN, *([Run.State.READY] if is_preparing(run) else [])]
    opened = Run.objects.filter(pk=run.pk, state__in=goes_on)
    if not opened.update(state=Run.State.PAUSED, pause_reason=reason[:300]):
        return False
    touch(run.pk)
    return True


def _resume_preparing(run: Run) -> bool:
    paused = Run.objects.filter(pk=run.pk, state=Run.State.PAUSED)
    if not paused.update(state=Run.State.READY, pause_reason=""):
        return False
    touch(run.pk)
    return True


@transaction.atomic
def resume_run(run: Run) -> bool:
    """Open a paused or ready run; its unpublished round gets a fresh deadline and fresh tries. One
    whose text is not prepared yet goes on with that."""
    if is_preparing(run):
        return _resume_preparing(run)
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
