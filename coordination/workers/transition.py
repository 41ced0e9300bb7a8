"""Change what a worker may do, once, and write down who decided it."""

from typing import Any

from django.db import transaction

from coordination.clock import now
from coordination.models import Worker, WorkerEvent

State = Worker.State
Verb = WorkerEvent.Verb

SOURCES = {
    Verb.APPROVED: {State.PENDING},
    Verb.PAUSED: {State.PENDING, State.APPROVED},
    Verb.BLOCKED: {State.PENDING, State.APPROVED, State.PAUSED},
    Verb.UNBLOCKED: {State.PAUSED, State.BLOCKED},
}
TARGETS = {
    Verb.APPROVED: State.APPROVED,
    Verb.PAUSED: State.PAUSED,
    Verb.BLOCKED: State.BLOCKED,
    Verb.UNBLOCKED: State.APPROVED,
}


@transaction.atomic
def change_state(worker: Worker, verb: WorkerEvent.Verb, reason: str, actor: Any) -> bool:
    """Do ``verb``; False when the worker's state does not allow it. Holds the worker's row until
    the surrounding transaction ends.
    """
    row = Worker.objects.select_for_update().get(pk=worker.pk)
    if row.state not in SOURCES[verb]:
        return False
    row.state = TARGETS[verb]
    row.state_reason = reason[:300] if row.state != State.APPROVED else ""
    row.save(update_fields=["state", "state_reason"])
    WorkerEvent.objects.create(worker=row, verb=verb, reason=reason[:300], actor=actor, at=now())
    worker.state, worker.state_reason = row.state, row.state_reason
    return True
