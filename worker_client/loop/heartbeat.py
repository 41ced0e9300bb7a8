"""Telling the coordinator how far a task is, from a thread that training cannot block."""

import random
import threading

from worker_client.client.coordinator import tell_progress
from worker_client.client.faults import Final, Passing
from worker_client.client.link import Link
from worker_client.client.patience import Backoff
from worker_client.contract import wire
from worker_client.contract.errors import Refusal

SHORTEST_S = 1.0
GONE = frozenset(
    refusal.code
    for refusal in (
        Refusal.LEASE_UNKNOWN,
        Refusal.LEASE_KEY_INVALID,
        Refusal.UNIT_TAKEN,
        Refusal.ROUND_CLOSED,
        # A lease ends with its worker's welcome.
        Refusal.AWAITING_APPROVAL,
        Refusal.WORKER_PAUSED,
        Refusal.WORKER_BLOCKED,
    )
)


class Heartbeat:
    """While entered, tells step and loss about every third of the lease.

    The first beat goes out at once unless ``late``, since a first lease may be short until
    it comes.
    ``wanted`` turns False when the coordinator no longer wants the result. A coordinator
    without this optional call is left in peace after one attempt. Takes over ``link``.
    """

    def __init__(self, link: Link, task: wire.Task, backoff: Backoff, late: bool = False) -> None:
        self.wanted = True
        self._link, self._task, self._backoff = link, task, backoff
        self._step = 0
        self._loss: float | None = None
        self._seconds: float = task.lease_seconds
        self._first_s = self._interval() if late else 0.0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True, name="heartbeat")

    def reached(self, step: int, loss: float) -> None:
        self._step, self._loss = step, loss

    def __enter__(self) -> "Heartbeat":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()

    def _run(self) -> None:
        delay: float | None = self._first_s
        while delay is not None and not self._over.wait(delay):
            delay = self._beat()
        self._link.close()

    def _beat(self) -> float | None:
        """Seconds until the next beat, or None for no more."""
        try:
            answer = tell_progress(self._link, self._task.lease_id, self._progress())
        except (Passing, Final) as fault:
            if fault.code in GONE or isinstance(fault, Final):
                self.wanted = fault.code not in GONE
                return None
            self._backoff.failed(fault.retry_after)
            return max(SHORTEST_S, self._backoff.remaining())
        self.wanted = answer.go_on
        self._seconds = answer.lease_seconds or self._seconds
        return self._interval() if answer.go_on else None

    def _interval(self) -> float:
        # Jitter, so that workers that started together do not beat together.
        return max(SHORTEST_S, self._seconds / 3 * random.uniform(0.7, 1.0))

    def _progress(self) -> wire.Progress:
        loss = self._loss if self._loss is not None and 0 <= self._loss <= 1e6 else None
        return wire.Progress(lease_key=self._task.lease_key, step=self._step, loss=loss)
