"""Let a worker see raw text, which it prepares and which is sent to it for that."""

from typing import Any

from django.db import transaction

from coordination.clock import now
from coordination.models import Worker, WorkerEvent


@transaction.atomic
def show_text(worker: Worker, reason: str = "", actor: Any = None) -> bool:
    """False unless the worker is registered, approved, and not shown text yet."""
    row = Worker.objects.select_for_update().get(pk=worker.pk)
    if row.may_see_text or not row.is_registered or row.state != Worker.State.APPROVED:
        return False
    row.may_see_text = True
    row.save(update_fields=["may_see_text"])
    verb = WorkerEvent.Verb.TEXT_SHOWN
    WorkerEvent.objects.create(worker=row, verb=verb, reason=reason[:300], actor=actor, at=now())
    worker.may_see_text = True
    return True
