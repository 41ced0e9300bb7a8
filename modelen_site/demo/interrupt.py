"""Ctrl-C and its kin, heard for certain.

Python raises KeyboardInterrupt wherever it happens to be. Where native code calls back into
Python, and inside some imports, it is printed and forgotten; so it is remembered here, and what
takes long asks between its steps.
"""

import signal
from types import FrameType

_heard = False


def listen() -> None:
    """From now on SIGINT, SIGTERM and SIGHUP raise KeyboardInterrupt and are remembered."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), _hear)


def check() -> None:
    """Raises KeyboardInterrupt: one was heard, whatever became of it."""
    if _heard:
        raise KeyboardInterrupt


def _hear(number: int, frame: FrameType | None) -> None:
    global _heard
    _heard = True
    raise KeyboardInterrupt
