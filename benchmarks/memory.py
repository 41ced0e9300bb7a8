"""The memory that processes hold while they work."""

import threading
from types import TracebackType
from typing import Self

import psutil

MIB = 2**20
SAMPLE_S = 0.05


class Peak:
    """``with Peak(pid) as peak``: ``peak.held`` is the most that a process and its children held
    together meanwhile, in bytes, without files that they map: what of those is in memory is the
    system's cache. Looks every ``every_s`` seconds until the block or the process ends."""

    def __init__(self, pid: int, every_s: float = SAMPLE_S) -> None:
        self.held, self._every_s = 0, every_s
        self._process = psutil.Process(pid)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.is_set():
            self.held = max(self.held, held_by_all(self._process))
            self._over.wait(self._every_s)


def held_by_all(process: psutil.Process) -> int:
    """Bytes of a process and its children; one that has ended holds nothing."""
    try:
        return held(process) + sum(map(held, process.children(recursive=True)))
    except psutil.Error:
        return 0


def held(process: psutil.Process) -> int:
    try:
        memory = process.memory_info()
        return memory.rss - memory.shared
    except psutil.Error:
        return 0
