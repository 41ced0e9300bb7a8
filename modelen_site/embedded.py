"""Celery's workers and beat as threads of the server's process.

Each queue has one worker, so that a stranger's slow host holds up no merge. Only ``serve``
starts them. The queues are memory and die with the process: whatever a stopped worker left half-way
is in the database, where the reconciler finds it.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from celery import Celery
from celery.beat import EmbeddedService, Scheduler
from celery.worker import WorkController, state

# A merge of many results may be running when the stop comes; past this it is abandoned to the
# reconciler of the next start.
STOP_S = 10.0


@contextmanager
def running(app: Celery) -> Iterator[None]:
    """Run a worker for each queue and one beat until the block ends.

    Entering returns when the workers take tasks.
    """
    # One after the other: which queues a worker takes is the application's until it is ready.
    workers = [_start_worker(app, queue.name) for queue in app.conf.task_queues]
    # The plain scheduler keeps its schedule in memory; the default one writes a file.
    beat = EmbeddedService(app, thread=True, scheduler_cls=Scheduler)
    beat.start()
    try:
        yield
    finally:
        beat.stop()
        _stop(workers)


def _start_worker(app: Celery, queue: str) -> threading.Thread:
    worker, ready = _worker(app, queue)
    thread = threading.Thread(target=worker.start, name=f"celery-{queue}", daemon=True)
    thread.start()
    ready.wait()
    return thread


def _worker(app: Celery, queue: str) -> tuple[WorkController, threading.Event]:
    # The bare controller, since the command line's one installs signal handlers and a log.
    app.finalize()
    app.set_current()
    app.set_default()
    ready = threading.Event()
    worker = WorkController(
        app=app,
        hostname=f"{queue}@embedded",
        queues=[queue],
        pool="solo",
        concurrency=1,
        ready_callback=lambda consumer: ready.set(),
        without_gossip=True,
        without_heartbeat=True,
        without_mingle=True,
    )
    return worker, ready


def _stop(workers: list[threading.Thread]) -> None:
    # Celery's own way for its signal handlers to end the loops; 0 is the exit code.
    state.should_stop = 0
    until = time.monotonic() + STOP_S
    for worker in workers:
        worker.join(max(0.0, until - time.monotonic()))
    state.should_stop = None
