"""Show a worker no more raw text."""

from typing import Any

from django.db import transaction

from coordination.clock import now
from coordination.models import Unit, Worker, WorkerEvent
from coordination.workers.end_leases import end_leases


@transaction.atomic
def hide_text(worker: Worker, reason: str = "", actor: Any = None) -> bool:
    """End its leases of text; what it delivers of them is refused. False when it is shown none."""
    row = Worker.objects.select_for_update().get(pk=worker.pk)
    if not row.may_see_text:
        return False
    row.may_see_text = False
    row.save(update_fields=["may_see_text"])
    verb = WorkerEvent.Verb.TEXT_HID
    WorkerEvent.objects.create(worker=row, verb=verb, reason=reason[:300], actor=actor, at=now())
    end_leases(row, Unit.Job.PREPROCESS)
    worker.may_see_text = False
    return True
