"""Ctrl-C and its kin, heard for certain.

Python raises KeyboardInterrupt wherever it happens to be. Where native code calls back into
Python, and inside some imports, it is printed and forgotten; so it is remembered here, and what
takes long asks between its steps.
"""

import signal
from types import FrameType

_heard = False


def listen() -> None:
    """From now on SIGINT, SIGTERM and SIGHUP raise KeyboardInterrupt and are remembered.

    Whoever began it with ``nohup`` wants no end with the terminal: then SIGHUP stays ignored.
    """
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is None or (name == "SIGHUP" and signal.getsignal(number) is signal.SIG_IGN):
            continue
        signal.signal(number, _hear)


def check() -> None:
    """Raises KeyboardInterrupt: one was heard, whatever became of it."""
    if _heard:
        raise KeyboardInterrupt


def _hear(number: int, frame: FrameType | None) -> None:
    global _heard
    _heard = True
    raise KeyboardInterrupt
