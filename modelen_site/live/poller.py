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
from collections.abc import Awaitable, Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any

from channels.db import database_sync_to_async
from django.core.exceptions import ObjectDoesNotExist
from django.db import DatabaseError

log = logging.getLogger(__name__)

Message = dict[str, Any]
Key = Hashable
Send = Callable[[Message], Awaitable[None]]


@dataclass(frozen=True)
class Source:
    """A kind of thing that can be watched; its functions read the database.

    ``find`` gives a public thing's key by its slug, or by the query string of an address without
    one; ``versions`` a value by key that changes with the thing; ``message`` what to send of it,
    with the ``version`` that it shows where that may be a newer one.
    """

    find: Callable[[str], Key | None]
    versions: Callable[[list[Any]], Mapping[Any, Hashable]]
    message: Callable[[Any, Any], Message]
    interval_s: float
    # Without any change a message is still sent this often.
    refresh_s: float = math.inf


class Poller:
    """Watchers on one event loop. Not for use from other threads."""

    def __init__(self, source: Source) -> None:
        self.source = source
        # The version that each was last told; None: not yet.
        self._watchers: defaultdict[Key, dict[Send, Hashable]] = defaultdict(dict)
        self._all_told_at: dict[Key, float] = {}
        self._task: asyncio.Task[None] | None = None

    def watch(self, key: Key, send: Send) -> None:
        """Call ``send`` with a message soon, and again after every change."""
        self._watchers[key][send] = None
        self._all_told_at.setdefault(key, time.monotonic())
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._poll_while_watched())

    def unwatch(self, key: Key, send: Send) -> None:
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
        changed = {key: version for key, version in versions.items() if self._due(key, version)}
        if not changed:
            return
        messages = await database_sync_to_async(self._messages)(changed)
        for key, message in messages.items():
            # Asked again: sockets come and go while the messages are made.
            if due := self._due(key, changed[key]):
                await self._tell(key, due, message, changed[key])

    def _messages(self, changed: Mapping[Key, Hashable]) -> dict[Key, Message]:
        """In one go, since every visit to the database's thread has its price."""
        return {key: self.source.message(key, version) for key, version in changed.items()}

    def _due(self, key: Key, version: Hashable) -> list[Send]:
        """Those that know another version; all of them when nothing was said for long."""
        watchers = self._watchers.get(key, {})
        if time.monotonic() - self._all_told_at.get(key, math.inf) >= self.source.refresh_s:
            return list(watchers)
        return [send for send, known in watchers.items() if known != version]

    async def _tell(self, key: Key, due: list[Send], message: Message, noticed: Hashable) -> None:
        watchers = self._watchers[key]
        watchers.update(dict.fromkeys(due, message.get("version", noticed)))
        if len(due) == len(watchers):
            self._all_told_at[key] = time.monotonic()
        sends = [send(message) for send in due]
        for failure in await asyncio.gather(*sends, return_exceptions=True):
            if isinstance(failure, Exception):
                log.debug("a socket closed while a message was on its way", exc_info=failure)
