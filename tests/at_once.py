"""Calls that meet in the same instant, each in a thread with its own database connection."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from django.db import connection

T = TypeVar("T")


def at_once(calls: Sequence[Callable[[], T]]) -> list[T]:
    """Run ``calls`` together and return what each returned, in their order."""
    together = threading.Barrier(len(calls))

    def run(call: Callable[[], T]) -> T:
        together.wait()
        try:
            return call()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))
