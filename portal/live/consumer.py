"""The websocket of a coordinator's page: it only ever sends, and needs no session."""

from collections import Counter

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncJsonWebsocketConsumer

from portal.live.poller import poller
from portal.models import Coordinator

SOCKETS_PER_ADDRESS = 50  # a class room behind one address fits
# Sent after accepting: before it, a browser hears only that the connection failed.
CLOSE_NOT_READ = 4400
CLOSE_NOT_LISTED = 4404
CLOSE_TOO_MANY = 4429

_sockets: Counter[str] = Counter()


class CoordinatorConsumer(AsyncJsonWebsocketConsumer):
    pk: int | None = None
    address: str | None = None

    async def connect(self) -> None:
        await self.accept()
        address = (self.scope.get("client") or ["unknown"])[0]
        if _sockets[address] >= SOCKETS_PER_ADDRESS:
            await self.close(CLOSE_TOO_MANY)
            return
        self.address = address
        _sockets[address] += 1
        self.pk = await _find(self.scope["url_route"]["kwargs"]["slug"])
        if self.pk is None:
            await self.close(CLOSE_NOT_LISTED)
            return
        poller.watch(self.pk, self.send_json)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """Nothing is ever read here, so whoever writes is no page of ours."""
        await self.close(CLOSE_NOT_READ)

    async def disconnect(self, code: int) -> None:
        if self.pk is not None:
            poller.unwatch(self.pk, self.send_json)
        if self.address is not None:
            _sockets[self.address] -= 1
            if not _sockets[self.address]:
                del _sockets[self.address]


@database_sync_to_async
def _find(slug: str) -> int | None:
    return Coordinator.objects.listed().filter(slug=slug).values_list("pk", flat=True).first()
