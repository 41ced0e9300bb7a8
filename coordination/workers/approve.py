"""Let a registered worker take part in a closed run."""

from typing import Any

from coordination.models import Worker, WorkerEvent
from coordination.workers.transition import change_state


def approve_worker(worker: Worker, reason: str = "", actor: Any = None) -> bool:
    """False unless the worker waits for approval."""
    return change_state(worker, WorkerEvent.Verb.APPROVED, reason, actor)
