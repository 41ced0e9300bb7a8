"""The websocket of a coordinator's page, through the site's own ASGI application."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from channels.db import database_sync_to_async
from channels.testing import WebsocketCommunicator

from modelen_site.asgi import application
from portal.heartbeats.beat import Beat
from portal.heartbeats.receive import receive
from portal.live import consumer, poller
from portal.models import Coordinator

pytestmark = pytest.mark.django_db(transaction=True)

HEADERS = [(b"origin", b"http://localhost"), (b"host", b"localhost")]


@pytest.fixture(autouse=True)
def _often(monkeypatch) -> None:
    monkeypatch.setattr(poller, "INTERVAL_S", 0.05)


@asynccontextmanager
async def watching(slug: str) -> AsyncIterator[WebsocketCommunicator]:
    path = f"/ws/coordinators/{slug}/"
    socket = WebsocketCommunicator(application, path, headers=HEADERS)
    socket.scope["client"] = ["192.0.2.7", 1234]
    connected, _ = await socket.connect()
    assert connected
    yield socket
    await socket.disconnect()


async def _close_code(socket: WebsocketCommunicator) -> int:
    message = await socket.receive_output(timeout=30)
    assert message["type"] == "websocket.close"
    return message["code"]


async def test_a_heartbeat_is_news_and_silence_is_none(listed: Coordinator) -> None:
    async with watching("demo") as one, watching("demo") as two:
        first = await one.receive_json_from(timeout=30)
        assert await two.receive_json_from(timeout=30) == first
        assert await one.receive_nothing(timeout=0.3)
        await database_sync_to_async(receive)(listed, Beat(1, "acik"))
        second = await one.receive_json_from(timeout=30)
        assert second != first
        assert await two.receive_json_from(timeout=30) == second


async def test_when_the_last_watcher_leaves_polling_stops(listed: Coordinator) -> None:
    async with watching("demo") as socket:
        await socket.receive_json_from(timeout=30)
        task = poller.poller._task
        assert task is not None and not task.done()
    await asyncio.wait_for(task, timeout=30)
    assert not poller.poller._watchers


async def test_what_is_not_listed_is_named_by_the_close_code(draft: Coordinator) -> None:
    for slug in ("demo", "nothing"):
        async with watching(slug) as socket:
            assert await _close_code(socket) == consumer.CLOSE_NOT_LISTED


async def test_whoever_writes_is_cut_off(listed: Coordinator) -> None:
    async with watching("demo") as socket:
        await socket.receive_json_from(timeout=30)
        await socket.send_to(text_data="hello")
        assert await _close_code(socket) == consumer.CLOSE_NOT_READ


async def test_one_address_has_so_many_sockets(listed: Coordinator, monkeypatch) -> None:
    monkeypatch.setattr(consumer, "SOCKETS_PER_ADDRESS", 1)
    async with watching("demo") as first:
        await first.receive_json_from(timeout=30)
        async with watching("demo") as second:
            assert await _close_code(second) == consumer.CLOSE_TOO_MANY
    async with watching("demo") as third:
        assert await third.receive_json_from(timeout=30)
