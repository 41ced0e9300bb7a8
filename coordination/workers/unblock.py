"""Let a paused or blocked worker in again."""

from typing import Any

from coordination.models import Worker, WorkerEvent
from coordination.workers.transition import change_state


def unblock_worker(worker: Worker, reason: str = "", actor: Any = None) -> bool:
    """False when the worker is neither paused nor blocked."""
    return change_state(worker, WorkerEvent.Verb.UNBLOCKED, reason, actor)
