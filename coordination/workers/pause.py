"""Give a worker a pause: no new tasks until somebody lets it in again; it waits by itself."""

from typing import Any

from django.db import transaction

from coordination.models import Worker, WorkerEvent
from coordination.workers.end_leases import end_leases
from coordination.workers.transition import change_state


@transaction.atomic
def pause_worker(worker: Worker, reason: str, actor: Any = None) -> bool:
    """End the worker's leases and refuse it work; its program is told ``reason`` and waits.

    False when it is paused or blocked already.
    """
    if not change_state(worker, WorkerEvent.Verb.PAUSED, reason, actor):
        return False
    end_leases(worker)
    return True
