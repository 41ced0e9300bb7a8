"""Celery's worker and beat as threads of the server's process.

Only ``manage.py serve`` starts them. The queue is memory and dies with the process: whatever a
stopped worker left half-way is in the database, where the reconciler finds it.
"""

import threading
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
    """Run one worker and one beat until the block ends.

    Entering returns when the worker takes tasks.
    """
    worker, ready = _worker(app)
    worker_thread = threading.Thread(target=worker.start, name="celery-worker", daemon=True)
    # The plain scheduler keeps its schedule in memory; the default one writes a file.
    beat = EmbeddedService(app, thread=True, scheduler_cls=Scheduler)
    worker_thread.start()
    ready.wait()
    beat.start()
    try:
        yield
    finally:
        beat.stop()
        _stop(worker_thread)


def _worker(app: Celery) -> tuple[WorkController, threading.Event]:
    # The bare controller, since the command line's one installs signal handlers and a log.
    app.finalize()
    app.set_current()
    app.set_default()
    ready = threading.Event()
    worker = WorkController(
        app=app,
        pool="solo",
        concurrency=1,
        ready_callback=lambda consumer: ready.set(),
        without_gossip=True,
        without_heartbeat=True,
        without_mingle=True,
    )
    return worker, ready


def _stop(worker_thread: threading.Thread) -> None:
    # Celery's own way for its signal handlers to end the loop; 0 is the exit code.
    state.should_stop = 0
    worker_thread.join(STOP_S)
    state.should_stop = None
