"""The live page's websocket, through the site's own ASGI application."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from channels.db import database_sync_to_async
from channels.testing import WebsocketCommunicator
from django.db import OperationalError

from coordination.live import consumer
from coordination.live.poller import poller
from coordination.live.snapshot import page_snapshot
from coordination.models import Run
from coordination.rounds.pause import pause_run
from modelen_site.asgi import application

pytestmark = pytest.mark.django_db(transaction=True)

HEADERS = [(b"origin", b"http://localhost"), (b"host", b"localhost")]


@asynccontextmanager
async def watching(slug: str) -> AsyncIterator[WebsocketCommunicator]:
    socket = WebsocketCommunicator(application, f"/ws/c/{slug}/", headers=HEADERS)
    socket.scope["client"] = ["192.0.2.7", 1234]
    connected, _ = await socket.connect()
    assert connected
    yield socket
    await socket.disconnect()


async def _close_code(socket: WebsocketCommunicator) -> int:
    message = await socket.receive_output(timeout=30)
    assert message["type"] == "websocket.close"
    return message["code"]


async def test_a_socket_gets_a_whole_snapshot_at_once_and_again_after_a_change(run):
    async with watching(run.slug) as socket:
        first = await socket.receive_json_from(timeout=30)
        assert first["phase"] == "waiting" and first["round"] == 1
        await database_sync_to_async(pause_run)(run, "a look at the data")
        second = await socket.receive_json_from(timeout=30)
    assert second["version"] > first["version"]
    assert second["phase"] == "paused" and second["pause_reason"] == "a look at the data"


async def test_without_a_change_nothing_is_sent_twice(run):
    async with watching(run.slug) as socket:
        await socket.receive_json_from(timeout=30)
        assert await socket.receive_nothing(timeout=1.2)


async def test_a_second_watcher_is_served_without_waiting_for_a_change(run):
    async with watching(run.slug) as one, watching(run.slug) as two:
        assert (await one.receive_json_from(timeout=30))["round"] == 1
        assert (await two.receive_json_from(timeout=30))["round"] == 1


async def test_when_the_last_watcher_leaves_polling_stops(run):
    async with watching(run.slug) as socket:
        await socket.receive_json_from(timeout=30)
        task = poller._task
        assert task is not None and not task.done()
    await asyncio.wait_for(task, timeout=30)
    assert not poller._watchers


async def test_a_run_that_does_not_exist_is_named_by_the_close_code(db):
    async with watching("nothing") as socket:
        assert await _close_code(socket) == consumer.CLOSE_NO_SUCH_RUN


async def test_whoever_writes_is_cut_off(run):
    async with watching(run.slug) as socket:
        await socket.receive_json_from(timeout=30)
        await socket.send_to(text_data="{not even json")
        assert await _close_code(socket) == consumer.CLOSE_NOT_READ


async def test_sockets_per_address_are_counted_and_given_back(run, monkeypatch):
    monkeypatch.setattr(consumer, "SOCKETS_PER_ADDRESS", 1)
    async with watching(run.slug) as first:
        await first.receive_json_from(timeout=30)
        async with watching(run.slug) as second:
            assert await _close_code(second) == consumer.CLOSE_TOO_MANY
    async with watching(run.slug) as third:
        await third.receive_json_from(timeout=30)
    assert not consumer._sockets


async def test_a_database_that_fails_for_a_moment_does_not_end_the_poller(run, monkeypatch):
    fails = iter([True, False])

    def read(watched: Run) -> dict:
        if next(fails, False):
            raise OperationalError("database is locked")
        return page_snapshot(watched)

    monkeypatch.setattr("coordination.live.poller.page_snapshot", read)
    async with watching(run.slug) as socket:
        assert (await socket.receive_json_from(timeout=30))["round"] == 1
    assert next(fails, None) is None, "the first reading failed"
