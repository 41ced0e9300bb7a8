"""Bytes moved and requests refused, gathered in memory and written at most once a second.

Figures for people: what a killed process had not yet written is not counted. So a server takes one
short transaction a second for them, however many workers it serves, on rows that no verb locks.
"""

import logging
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from django.db import DatabaseError, transaction
from django.db.models import F

from coordination.models import RefusalCount, Round, RoundTally, Run, Worker, WorkerTraffic
from coordination.tallies.add import add

FLUSH_SECONDS = 1.0

log = logging.getLogger(__name__)


@dataclass
class Traffic:
    """Bytes, up and down apart, by whatever they are counted for."""

    up: Counter = field(default_factory=Counter)
    down: Counter = field(default_factory=Counter)

    def add(self, key: object, up: int, down: int) -> None:
        self.up[key] += up
        self.down[key] += down

    def rows(self) -> Iterator[tuple]:
        return ((key, self.up[key], self.down[key]) for key in self.up)


@dataclass
class Gathered:
    """Traffic by run, by round (run, number) and by worker; refusals by run and code."""

    runs: Traffic = field(default_factory=Traffic)
    rounds: Traffic = field(default_factory=Traffic)
    workers: Traffic = field(default_factory=Traffic)
    refusals: Counter[tuple[int, str]] = field(default_factory=Counter)


_lock = threading.Lock()
_gathered = Gathered()
_flushed_at = 0.0


def count_bytes(
    run_id: int, round_number: int, worker_id: int | None, up: int = 0, down: int = 0
) -> None:
    """Add bytes received from and sent to a worker; ``worker_id`` is None for an unknown one."""
    with _lock:
        _gathered.runs.add(run_id, up, down)
        _gathered.rounds.add((run_id, round_number), up, down)
        if worker_id is not None:
            _gathered.workers.add(worker_id, up, down)


def count_refusal(run_id: int, code: str) -> None:
    with _lock:
        _gathered.refusals[run_id, code] += 1


def flush_if_due() -> None:
    """Write what has been gathered unless that was done within the last second. A request's
    last deed, outside of any transaction."""
    if time.monotonic() - _flushed_at >= FLUSH_SECONDS:
        flush()


def flush() -> None:
    """Write what has been gathered. What cannot be written is forgotten: no request fails by it."""
    global _gathered, _flushed_at
    with _lock:
        gathered, _gathered = _gathered, Gathered()
        _flushed_at = time.monotonic()
    if not gathered.runs.up and not gathered.refusals:
        return
    try:
        write(gathered)
    except DatabaseError:
        log.warning("could not write what was counted of the traffic", exc_info=True)


@transaction.atomic
def write(gathered: Gathered) -> None:
    """Rows are locked in the order in which verbs lock them (``coordination.models.run.touch``).
    What is gone takes nothing."""
    workers = set(Worker.objects.filter(pk__in=gathered.workers.up).values_list("pk", flat=True))
    traffic = [row for row in gathered.workers.rows() if row[0] in workers]
    add(WorkerTraffic, ["worker_id"], ["bytes_up", "bytes_down"], traffic)
    _write_rounds(gathered.rounds)
    met = gathered.runs.up.keys() | {run_id for run_id, _ in gathered.refusals}
    runs = sorted(Run.objects.filter(pk__in=met).values_list("pk", flat=True))
    refusals = [(*key, count) for key, count in gathered.refusals.items() if key[0] in runs]
    add(RefusalCount, ["run_id", "code"], ["count"], refusals)
    for run_id in runs:
        Run.objects.filter(pk=run_id).update(
            bytes_up=F("bytes_up") + gathered.runs.up[run_id],
            bytes_down=F("bytes_down") + gathered.runs.down[run_id],
            version=F("version") + 1,
        )


def _write_rounds(traffic: Traffic) -> None:
    numbers = {number for _, number in traffic.up}
    rounds = Round.objects.filter(run__in={run_id for run_id, _ in traffic.up}, number__in=numbers)
    ids = {(run_id, number): pk for pk, run_id, number in rounds.values_list("pk", "run", "number")}
    rows = [(ids[key], up, down) for key, up, down in traffic.rows() if key in ids]
    add(RoundTally, ["round_id"], ["bytes_up", "bytes_down"], rows)
