"""Notice changes of watched runs and fan whole snapshots out to their sockets.

Each server process has one poller. While somebody watches, it reads the version numbers of the
watched runs twice a second, in one query, and builds a snapshot only of those that changed. So
nothing has to cross from the threads and processes that change a run to the event loop that
holds the sockets.
"""

import asyncio
import logging
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable

from channels.db import database_sync_to_async
from django.db import DatabaseError

from coordination.live.snapshot import page_snapshot
from coordination.models import Run

INTERVAL_S = 0.5
# Without any change a snapshot is still sent this often: workers fall silent without a trace in
# the database, and a page can tell a quiet run from a dead connection.
REFRESH_S = 15.0

log = logging.getLogger(__name__)

Send = Callable[[dict], Awaitable[None]]


class Poller:
    """Watchers of runs on one event loop. Not for use from other threads."""

    def __init__(self) -> None:
        self._watchers: defaultdict[int, set[Send]] = defaultdict(set)
        self._sent: dict[int, tuple[int, float]] = {}
        self._task: asyncio.Task[None] | None = None

    def watch(self, run_id: int, send: Send) -> None:
        """Call ``send`` with a snapshot soon, and again after every change."""
        self._watchers[run_id].add(send)
        self._sent.pop(run_id, None)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._poll_while_watched())

    def unwatch(self, run_id: int, send: Send) -> None:
        self._watchers[run_id].discard(send)
        if not self._watchers[run_id]:
            del self._watchers[run_id]
            self._sent.pop(run_id, None)

    async def _poll_while_watched(self) -> None:
        while self._watchers:
            try:
                await self._poll()
            except DatabaseError:
                log.warning("could not read the watched runs; trying again", exc_info=True)
            await asyncio.sleep(INTERVAL_S)

    async def _poll(self) -> None:
        for run_id, version in (await _versions(list(self._watchers))).items():
            if self._is_due(run_id, version):
                snapshot = await _snapshot(run_id)
                self._sent[run_id] = (snapshot["version"], time.monotonic())
                await self._fan_out(run_id, snapshot)

    def _is_due(self, run_id: int, version: int) -> bool:
        sent_version, sent_at = self._sent.get(run_id, (-1, 0.0))
        return version != sent_version or time.monotonic() - sent_at >= REFRESH_S

    async def _fan_out(self, run_id: int, snapshot: dict) -> None:
        sends = [send(snapshot) for send in self._watchers.get(run_id, ())]
        for failure in await asyncio.gather(*sends, return_exceptions=True):
            if isinstance(failure, Exception):
                log.debug("a socket closed while a snapshot was on its way", exc_info=failure)


@database_sync_to_async
def _versions(run_ids: list[int]) -> dict[int, int]:
    return dict(Run.objects.filter(pk__in=run_ids).values_list("pk", "version"))


@database_sync_to_async
def _snapshot(run_id: int) -> dict:
    return page_snapshot(Run.objects.get(pk=run_id))


poller = Poller()
