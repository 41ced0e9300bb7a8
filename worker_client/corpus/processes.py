"""Work spread over processes, its results in order and few of them in memory at once."""

import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from itertools import islice
from multiprocessing import get_context, parent_process
from typing import TypeVar

Job = TypeVar("Job")
Found = TypeVar("Found")
AHEAD = 2


def in_order(work: Callable[[Job], Found], jobs: Iterable[Job], processes: int) -> Iterator[Found]:
    """``map(work, jobs)`` by so many processes, which take up to ``AHEAD`` jobs each in advance.

    With one, the work is done in this process. ``work`` must be importable.
    """
    if processes == 1:
        yield from map(work, jobs)
        return
    pool = ProcessPoolExecutor(processes, get_context("spawn"), _begin)
    coming, pending = iter(jobs), deque[Future[Found]]()
    try:
        while True:
            room = processes * AHEAD - len(pending)
            pending.extend(pool.submit(work, job) for job in islice(coming, room))
            if not pending:
                return
            yield pending.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


def _begin() -> None:
    """A process leaves Ctrl-C to its parent and ends with it, even one that was killed.

    The processes are the parallelism: libraries are to bring no threads of their own.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
