"""Deadlines that a socket timeout cannot give: it starts anew with every byte that drips in."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from worker_client.client.faults import Passing

CONNECT_S = 15.0
SILENCE_S = 60.0  # a coordinator may check a whole result before it answers
HEADERS_S = 120.0
JSON_BODY_S = 60.0
LOW_SPEED_BYTES_S = 1000
LOW_SPEED_WINDOW_S = 60.0


@contextmanager
def _cut_after(connection: HTTPConnection, seconds: float) -> Iterator[None]:
    def cut() -> None:
        if connection.sock is not None:
            connection.sock.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(seconds, cut)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


class _Connection(HTTPConnection):
    def getresponse(self) -> Any:
        with _cut_after(self, HEADERS_S):
            return super().getresponse()


class _SecureConnection(HTTPSConnection):
    def getresponse(self) -> Any:
        with _cut_after(self, HEADERS_S):
            return super().getresponse()


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _SecurePool(HTTPSConnectionPool):
    ConnectionCls = _SecureConnection


class DeadlineAdapter(HTTPAdapter):
    """A requests adapter whose answers' headers must be complete within ``HEADERS_S``.

    ``source``: the address of this computer that connections leave from; the system's choice
    when empty.
    """

    def __init__(self, source: str = "") -> None:
        self._source = source
        super().__init__()

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        if self._source:
            kwargs["source_address"] = (self._source, 0)
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = {"http": _Pool, "https": _SecurePool}

    def proxy_manager_for(self, *args: Any, **kwargs: Any) -> Any:
        manager = super().proxy_manager_for(*args, **kwargs)
        manager.pool_classes_by_scheme = {"http": _Pool, "https": _SecurePool}
        return manager


class Pace:
    """Cuts off a body that drips: it must bring ``LOW_SPEED_BYTES_S`` over every window."""

    def __init__(self) -> None:
        self._since, self._count = time.monotonic(), 0

    def add(self, count: int) -> None:
        """Count bytes that arrived.

        Raises:
            Passing: the last window was slower than the limit.
        """
        self._count += count
        elapsed = time.monotonic() - self._since
        if elapsed < LOW_SPEED_WINDOW_S:
            return
        if self._count < LOW_SPEED_BYTES_S * elapsed:
            raise Passing(f"only {self._count} bytes in {elapsed:.0f} s; trying again")
        self._since, self._count = time.monotonic(), 0
