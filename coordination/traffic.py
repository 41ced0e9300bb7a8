"""Bytes moved per run, gathered in memory and written at most once a second.

A figure for people: what a killed process had not yet written is not counted.
"""

import threading
import time
from collections import Counter

from django.db.models import F

from coordination.models import Run

FLUSH_SECONDS = 1.0

_lock = threading.Lock()
_up: Counter[int] = Counter()
_down: Counter[int] = Counter()
_flushed_at = 0.0


def count(run_id: int, *, up: int = 0, down: int = 0) -> None:
    """Add bytes received from and sent to workers of a run."""
    with _lock:
        _up[run_id] += up
        _down[run_id] += down
        due = time.monotonic() - _flushed_at >= FLUSH_SECONDS
    if due:
        flush()


def flush() -> None:
    """Write what has been gathered."""
    global _flushed_at
    with _lock:
        up, down = dict(_up), dict(_down)
        _up.clear()
        _down.clear()
        _flushed_at = time.monotonic()
    for run_id in up.keys() | down.keys():
        Run.objects.filter(pk=run_id).update(
            bytes_up=F("bytes_up") + up.get(run_id, 0),
            bytes_down=F("bytes_down") + down.get(run_id, 0),
            version=F("version") + 1,
        )
