"""Ctrl-C: the first asks, the second ends at once."""

import os
import signal
import threading
from types import FrameType

SECOND_STATUS = 130
_SIGNALS = ("SIGINT", "SIGTERM", "SIGBREAK")  # the last is Windows' Ctrl-Break
_TOLD = b"\nStopping; press Ctrl-C again to end at once.\n"


class StopSignals:
    """While entered, SIGINT and SIGTERM set ``requested``; the next one exits with status 130."""

    def __init__(self) -> None:
        self.requested = threading.Event()
        self._heard = False
        self._before: dict[int, object] = {}

    def __enter__(self) -> "StopSignals":
        for name in _SIGNALS:
            if hasattr(signal, name):
                number = getattr(signal, name)
                self._before[number] = signal.signal(number, self._hear)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def _hear(self, number: int, frame: FrameType | None) -> None:
        if self._heard:
            os._exit(SECOND_STATUS)
        self._heard = True
        os.write(2, _TOLD)
        # Not here: the main thread may be inside this event's own lock just now.
        threading.Thread(target=self.requested.set).start()
