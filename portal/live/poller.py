"""Tell watched coordinators' pages that there is something new.

Heartbeats arrive in any thread or process, so each server process has one poller that, while
somebody watches, reads what is watched in one query. What is sent is a version and no content: the
page fetches its own HTML, in its own language.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable

from channels.db import database_sync_to_async
from django.db import DatabaseError

from portal.models import Coordinator

INTERVAL_S = 2.0  # heartbeats come once a minute

log = logging.getLogger(__name__)

Send = Callable[[dict], Awaitable[None]]


class Poller:
    """Watchers of coordinators on one event loop. Not for use from other threads."""

    def __init__(self) -> None:
        self._watchers: defaultdict[int, dict[Send, str]] = defaultdict(dict)
        self._task: asyncio.Task[None] | None = None

    def watch(self, pk: int, send: Send) -> None:
        """Call ``send`` with the version soon, and again after every change."""
        self._watchers[pk][send] = ""
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._poll_while_watched())

    def unwatch(self, pk: int, send: Send) -> None:
        self._watchers[pk].pop(send, None)
        if not self._watchers[pk]:
            del self._watchers[pk]

    async def _poll_while_watched(self) -> None:
        while self._watchers:
            try:
                versions = await _versions(list(self._watchers))
            except DatabaseError:
                log.warning("could not read the watched coordinators; trying again", exc_info=True)
            else:
                await self._tell(versions)
            await asyncio.sleep(INTERVAL_S)

    async def _tell(self, versions: dict[int, str]) -> None:
        sends = []
        for pk, version in versions.items():
            watchers = self._watchers.get(pk, {})
            for send in [send for send, known in watchers.items() if known != version]:
                watchers[send] = version
                sends.append(send({"version": version}))
        # A socket that closes meanwhile says so by its own disconnect.
        await asyncio.gather(*sends, return_exceptions=True)


@database_sync_to_async
def _versions(pks: list[int]) -> dict[int, str]:
    rows = Coordinator.objects.filter(pk__in=pks)
    told = rows.values_list("pk", "heartbeat_seq", "presence", "proof", "revision")
    return {pk: "-".join(map(str, parts)) for pk, *parts in told}


poller = Poller()
