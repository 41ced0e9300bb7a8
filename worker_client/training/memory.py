"""How much memory a stranger's file may make this process take."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

STATM = Path("/proc/self/statm")  # its first number is the size of all memory, in pages


@contextmanager
def at_most(more: int) -> Iterator[None]:
    """While entered, ``more`` bytes beyond what is taken already; beyond that allocating fails,
    which ends a process in native code. On other systems than Linux nothing holds it back."""
    if sys.platform != "linux":
        yield
        return
    import resource

    before = resource.getrlimit(resource.RLIMIT_AS)
    taken = int(STATM.read_text().split()[0]) * resource.getpagesize()
    hard = before[1]
    limit = taken + more if hard == resource.RLIM_INFINITY else min(taken + more, hard)
    try:
        resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
