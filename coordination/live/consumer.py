"""The live page's websocket: it only ever sends snapshots, and needs no session."""

from collections import Counter

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncJsonWebsocketConsumer

from coordination.live.poller import poller
from coordination.models import Run

SOCKETS_PER_ADDRESS = 50  # a class room behind one address fits
# Sent after accepting: before it, a browser hears only that the connection failed.
CLOSE_NOT_READ = 4400
CLOSE_NO_SUCH_RUN = 4404
CLOSE_TOO_MANY = 4429

_sockets: Counter[str] = Counter()


class LiveConsumer(AsyncJsonWebsocketConsumer):
    run_id: int | None = None
    address: str | None = None

    async def connect(self) -> None:
        await self.accept()
        address = (self.scope.get("client") or ["unknown"])[0]
        if _sockets[address] >= SOCKETS_PER_ADDRESS:
            await self.close(CLOSE_TOO_MANY)
            return
        self.address = address
        _sockets[address] += 1
        self.run_id = await _find_run(self.scope["url_route"]["kwargs"]["slug"])
        if self.run_id is None:
            await self.close(CLOSE_NO_SUCH_RUN)
            return
        poller.watch(self.run_id, self.send_json)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """Nothing is ever read here, so whoever writes is no page of ours."""
        await self.close(CLOSE_NOT_READ)

    async def disconnect(self, code: int) -> None:
        if self.run_id is not None:
            poller.unwatch(self.run_id, self.send_json)
        if self.address is not None:
            _sockets[self.address] -= 1
            if not _sockets[self.address]:
                del _sockets[self.address]


@database_sync_to_async
def _find_run(slug: str) -> int | None:
    return Run.objects.filter(slug=slug).values_list("pk", flat=True).first()
