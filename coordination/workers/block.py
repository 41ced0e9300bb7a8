"""Let a worker take no part in a run any more."""

from typing import Any

from django.db import transaction

from coordination.models import Worker, WorkerEvent
from coordination.workers.end_leases import end_leases
from coordination.workers.hide_text import hide_text
from coordination.workers.transition import change_state


@transaction.atomic
def block_worker(worker: Worker, reason: str, actor: Any = None) -> bool:
    """End the worker's leases and refuse it for good; its program is told ``reason`` and stops.

    Let in again, it has to be allowed anew to see text.

    False when it is blocked already.
    """
    if not change_state(worker, WorkerEvent.Verb.BLOCKED, reason, actor):
        return False
    end_leases(worker)
    hide_text(worker, reason, actor)
    return True
