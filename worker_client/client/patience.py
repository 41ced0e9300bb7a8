"""Back-off per coordinator: how long to wait before the next request, over restarts too."""

import random
import threading
import time
from collections.abc import Callable
from typing import Protocol, TypeVar

from pydantic import BaseModel

from worker_client.client.faults import Fault, Passing, Stopped
from worker_client.contract.wire import ONE_DAY_S

FIRST_S = 1.0
LONGEST_S = 300.0

T = TypeVar("T")


class BackoffRecord(BaseModel):
    """What outlives a restart: not before when (Unix seconds), and failures in a row."""

    not_before: float = 0.0
    failures: int = 0


class BackoffStore(Protocol):
    def load_backoff(self) -> BackoffRecord: ...

    def save_backoff(self, record: BackoffRecord) -> None: ...


class Backoff:
    """1 s doubling to 5 min with full jitter; what the coordinator asks for is a minimum.

    One step however many requests failed: a failure during a wait only lengthens that wait to
    what the coordinator asked. Safe to share between threads.
    """

    def __init__(self, store: BackoffStore, draw: Callable[[float, float], float] | None = None):
        self._store, self._draw = store, draw or random.uniform
        self._lock = threading.Lock()
        record = store.load_backoff()
        self._failures = record.failures
        # A clock that was set back must not turn a short wait into a long one.
        left = min(max(0.0, record.not_before - time.time()), ONE_DAY_S)
        self._until = time.monotonic() + left

    def remaining(self) -> float:
        """Seconds to wait before the next request."""
        with self._lock:
            return max(0.0, self._until - time.monotonic())

    def failed(self, retry_after: float = 0) -> None:
        """A request failed in passing; ``retry_after`` seconds is the least to wait."""
        with self._lock:
            now = time.monotonic()
            if self._until > now:
                self._set(max(self._until, now + retry_after))
                return
            ceiling = min(LONGEST_S, FIRST_S * 2 ** min(self._failures, 16))
            self._failures += 1
            self._set(now + max(retry_after, self._draw(0, ceiling)))

    def wait_at_least(self, seconds: float) -> None:
        """Nothing failed, but the coordinator asks to come again later."""
        with self._lock:
            self._failures = 0
            self._set(max(self._until, time.monotonic() + seconds))

    def succeeded(self) -> None:
        with self._lock:
            if self._failures:
                self._failures = 0
                self._set(self._until)

    def _set(self, until: float) -> None:
        self._until = until
        wall = time.time() + until - time.monotonic()
        self._store.save_backoff(BackoffRecord(not_before=wall, failures=self._failures))


class Patience:
    """Repeats a request until it succeeds or is refused for good; never gives up by itself."""

    def __init__(
        self,
        backoff: Backoff,
        stop: threading.Event,
        told: Callable[[str, float], None] = lambda reason, seconds: None,
    ) -> None:
        self.backoff, self._stop, self._told = backoff, stop, told

    def call(self, attempt: Callable[[], T], *, resets: bool = True) -> T:
        """The result of ``attempt``, however long that takes.

        ``resets`` False keeps the back-off where it is: for requests that succeed each time
        round a loop in which a later one fails.

        Raises:
            Final: refused for good.
            Stopped: the person asked to stop while there was nothing to do but wait.
        """
        self.wait("as the coordinator asked")
        while True:
            try:
                result = attempt()
            except Passing as fault:
                self.outlast(fault)
            else:
                if resets:
                    self.backoff.succeeded()
                return result

    def outlast(self, fault: Fault) -> None:
        """Take a back-off step for ``fault`` and wait; raises Stopped on a stop."""
        self.backoff.failed(getattr(fault, "retry_after", 0))
        self.check_stop()
        self.wait(fault.detail)

    def wait(self, reason: str) -> None:
        """Sleep out what the back-off demands, telling why; raises Stopped on a stop."""
        left = self.backoff.remaining()
        if left > 0:
            self._told(reason, left)
        while left > 0:
            if self._stop.wait(left):
                raise Stopped
            left = self.backoff.remaining()

    @property
    def stopping(self) -> bool:
        """Whether the person asked to stop."""
        return self._stop.is_set()

    def check_stop(self) -> None:
        """Raises Stopped if the person asked to stop."""
        if self.stopping:
            raise Stopped
