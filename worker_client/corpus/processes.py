"""Work spread over processes, its results in order and few of them in memory at once."""

import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from multiprocessing import active_children, get_context, parent_process
from typing import TypeVar

Job = TypeVar("Job")
Found = TypeVar("Found")
AHEAD = 2


def in_order(
    work: Callable[[Job], Found], jobs: Iterable[Job], processes: int
) -> Generator[Found, None, None]:
    """``map(work, jobs)`` by so many processes, which take up to ``AHEAD`` jobs each in advance.

    With one, the work is done in this process. ``work`` must be importable.

    Raises:
        OSError: a process was killed.
    """
    if processes == 1:
        yield from map(work, jobs)
        return
    others = active_children()
    pool = ProcessPoolExecutor(processes, get_context("spawn"), _begin)
    coming, pending = iter(jobs), deque[Future[Found]]()
    try:
        while True:
            room = processes * AHEAD - len(pending)
            pending.extend(pool.submit(work, job) for job in islice(coming, room))
            if not pending:
                return
            yield pending.popleft().result()
    except BrokenProcessPool:
        raise OSError(
            "a process was ended from outside, perhaps for want of memory; start again, with fewer "
            "--processes"
        ) from None
    except BaseException:  # Ctrl-C, or whoever took the results has had enough: nobody waits
        for child in set(active_children()).difference(others):
            child.terminate()
        raise
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
