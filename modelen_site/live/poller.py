"""Notice changes of what is watched and fan them out to sockets.

Each server process has one poller for each kind of thing. While somebody watches, it reads the
versions of all that is watched in one query, and builds a message only for those that changed. So
nothing has to cross from the threads and processes that change a thing to the event loop that holds
the sockets.
"""

import asyncio
import logging
import math
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Any

from channels.db import database_sync_to_async
from django.core.exceptions import ObjectDoesNotExist
from django.db import DatabaseError

log = logging.getLogger(__name__)

Message = dict[str, Any]
Send = Callable[[Message], Awaitable[None]]


@dataclass(frozen=True)
class Source:
    """A kind of thing that can be watched; its functions read the database.

    ``find`` gives a public thing's key by its slug, ``versions`` a value by key that changes with
    the thing, ``message`` what to send of it, with the ``version`` that it shows.
    """

    find: Callable[[str], int | None]
    versions: Callable[[list[int]], dict[int, Any]]
    message: Callable[[int, Any], Message]
    interval_s: float
    # Without any change a message is still sent this often.
    refresh_s: float = math.inf


class Poller:
    """Watchers on one event loop. Not for use from other threads."""

    def __init__(self, source: Source) -> None:
        self.source = source
        # The version that each was last told; None: not yet.
        self._watchers: defaultdict[int, dict[Send, Hashable]] = defaultdict(dict)
        self._all_told_at: dict[int, float] = {}
        self._task: asyncio.Task[None] | None = None

    def watch(self, key: int, send: Send) -> None:
        """Call ``send`` with a message soon, and again after every change."""
        self._watchers[key][send] = None
        self._all_told_at.setdefault(key, time.monotonic())
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._poll_while_watched())

    def unwatch(self, key: int, send: Send) -> None:
        self._watchers[key].pop(send, None)
        if not self._watchers[key]:
            del self._watchers[key]
            self._all_told_at.pop(key, None)

    async def _poll_while_watched(self) -> None:
        while self._watchers:
            try:
                await self._poll()
            except (DatabaseError, ObjectDoesNotExist):
                log.warning("could not read what is watched; trying again", exc_info=True)
            await asyncio.sleep(self.source.interval_s)

    async def _poll(self) -> None:
        versions = await database_sync_to_async(self.source.versions)(list(self._watchers))
        for key, version in versions.items():
            if self._due(key, version):
                message = await database_sync_to_async(self.source.message)(key, version)
                # Asked again: sockets come and go while the message is made.
                if due := self._due(key, version):
                    await self._tell(key, due, message)

    def _due(self, key: int, version: Hashable) -> list[Send]:
        """Those that know another version; all of them when nothing was said for long."""
        watchers = self._watchers.get(key, {})
        if time.monotonic() - self._all_told_at.get(key, math.inf) >= self.source.refresh_s:
            return list(watchers)
        return [send for send, known in watchers.items() if known != version]

    async def _tell(self, key: int, due: list[Send], message: Message) -> None:
        watchers = self._watchers[key]
        watchers.update(dict.fromkeys(due, message["version"]))
        if len(due) == len(watchers):
            self._all_told_at[key] = time.monotonic()
        sends = [send(message) for send in due]
        for failure in await asyncio.gather(*sends, return_exceptions=True):
            if isinstance(failure, Exception):
                log.debug("a socket closed while a message was on its way", exc_info=failure)
