"""The websocket of a live page: it only ever sends, and needs no session."""

from collections import Counter
from typing import Any

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncJsonWebsocketConsumer

from modelen_site.live.poller import Key, Poller

SOCKETS_PER_ADDRESS = 50  # a class room behind one address fits
# Sent after accepting: before it, a browser hears only that the connection failed.
CLOSE_NOT_READ = 4400
CLOSE_NOT_FOUND = 4404
CLOSE_TOO_MANY = 4429

_sockets: Counter[str] = Counter()


class LiveConsumer(AsyncJsonWebsocketConsumer):
    def __init__(self, *args: Any, poller: Poller, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.poller = poller
        self.key: Key | None = None
        self.address: str | None = None

    async def connect(self) -> None:
        await self.accept()
        address = (self.scope.get("client") or ["unknown"])[0]
        if _sockets[address] >= SOCKETS_PER_ADDRESS:
            await self.close(CLOSE_TOO_MANY)
            return
        self.address = address
        _sockets[address] += 1
        find = database_sync_to_async(self.poller.source.find)
        slug = self.scope["url_route"]["kwargs"].get("slug")
        self.key = await find(slug or self.scope["query_string"].decode("ascii", "replace"))
        if self.key is None:
            await self.close(CLOSE_NOT_FOUND)
            return
        self.poller.watch(self.key, self.send_json)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """Nothing is ever read here, so whoever writes is no page of ours."""
        await self.close(CLOSE_NOT_READ)

    async def disconnect(self, code: int) -> None:
        if self.key is not None:
            self.poller.unwatch(self.key, self.send_json)
        if self.address is not None:
            _sockets[self.address] -= 1
            if not _sockets[self.address]:
                del _sockets[self.address]
