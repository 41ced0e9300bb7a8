"""Sockets and their poller, over things that a test can change and break."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from channels.routing import URLRouter
from channels.testing import WebsocketCommunicator
from django.core.exceptions import ObjectDoesNotExist
from django.db import OperationalError
from django.urls import path

from modelen_site.live import consumer
from modelen_site.live.consumer import LiveConsumer
from modelen_site.live.poller import Poller, Source
from tests.modelen_site.sockets import PATIENCE_S, close_code

pytestmark = pytest.mark.django_db(transaction=True)

SHORT_S = 0.3


@dataclass
class Things:
    """By slug: a key, a version; what is to go wrong at the next readings."""

    keys: dict[str, int] = field(default_factory=lambda: {"one": 1, "two": 2})
    current: dict[int, int] = field(default_factory=lambda: {1: 10, 2: 20})
    faults: list[Exception] = field(default_factory=list)
    made: int = 0

    def versions(self, keys: list[int]) -> dict[int, int]:
        return {key: self.current[key] for key in keys}

    def message(self, key: int, version: Any) -> dict[str, Any]:
        self.made += 1
        if self.faults:
            raise self.faults.pop()
        return {"version": self.current[key], "key": key}


@pytest.fixture
def things() -> Things:
    return Things()


@pytest.fixture
def poller(things: Things) -> Poller:
    return Poller(Source(things.keys.get, things.versions, things.message, interval_s=0.02))


@pytest.fixture(autouse=True)
def _all_sockets_are_given_back() -> Iterator[None]:
    yield
    assert not consumer._sockets


class Socket(WebsocketCommunicator):
    """``async with`` opens and closes it."""

    def __init__(self, poller: Poller, slug: str) -> None:
        routes = [path("<slug:slug>/", LiveConsumer.as_asgi(poller=poller))]
        super().__init__(URLRouter(routes), f"/{slug}/")
        self.scope["client"] = ["192.0.2.7", 1234]

    async def __aenter__(self) -> "Socket":
        assert (await self.connect())[0]
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.disconnect()

    async def hear(self) -> dict[str, Any]:
        return await self.receive_json_from(PATIENCE_S)

    async def hears_nothing(self) -> bool:
        return await self.receive_nothing(timeout=SHORT_S)


async def test_what_changes_is_told_to_those_who_watch_it(things: Things, poller: Poller) -> None:
    async with Socket(poller, "one") as one, Socket(poller, "two") as two:
        assert await one.hear() == {"version": 10, "key": 1}
        assert await two.hear() == {"version": 20, "key": 2}
        things.current[1] = 11
        assert await one.hear() == {"version": 11, "key": 1}
        assert await two.hears_nothing() and await one.hears_nothing()


async def test_one_message_is_made_for_many_sockets(things: Things, poller: Poller) -> None:
    async with Socket(poller, "one") as first, Socket(poller, "one") as second:
        for socket in (first, second):
            await socket.hear()
        made = things.made
        things.current[1] = 11
        for socket in (first, second):
            assert (await socket.hear())["version"] == 11
        assert things.made == made + 1


async def test_a_newcomer_is_told_at_once_and_nobody_else(poller: Poller) -> None:
    async with Socket(poller, "one") as first:
        await first.hear()
        async with Socket(poller, "one") as second:
            await second.hear()
            assert await first.hears_nothing()


async def test_silence_is_broken_every_so_often_for_all(things: Things) -> None:
    source = Source(things.keys.get, things.versions, things.message, 0.02, refresh_s=0.1)
    poller = Poller(source)
    async with Socket(poller, "one") as first, Socket(poller, "one") as second:
        for _time in range(3):
            for socket in (first, second):
                assert (await socket.hear())["version"] == 10


async def test_when_the_last_watcher_leaves_polling_stops(poller: Poller) -> None:
    async with Socket(poller, "one") as socket:
        await socket.hear()
        task = poller._task
        assert task is not None and not task.done()
    await asyncio.wait_for(task, PATIENCE_S)
    assert not poller._watchers and not poller._all_told_at


@pytest.mark.parametrize("fault", [OperationalError("database is locked"), ObjectDoesNotExist()])
async def test_a_reading_that_fails_does_not_end_it(
    things: Things, poller: Poller, fault: Exception
) -> None:
    things.faults.append(fault)
    async with Socket(poller, "one") as socket:
        assert (await socket.hear())["version"] == 10
    assert not things.faults


async def test_what_is_not_there_is_named_by_the_close_code(poller: Poller) -> None:
    async with Socket(poller, "nothing") as socket:
        assert await close_code(socket) == consumer.CLOSE_NOT_FOUND


@pytest.mark.parametrize("text", ["hello", "{not even json"])
async def test_whoever_writes_is_cut_off(poller: Poller, text: str) -> None:
    async with Socket(poller, "one") as socket:
        await socket.hear()
        await socket.send_to(text_data=text)
        assert await close_code(socket) == consumer.CLOSE_NOT_READ


async def test_one_address_has_so_many_sockets(
    poller: Poller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumer, "SOCKETS_PER_ADDRESS", 1)
    async with Socket(poller, "one") as first:
        await first.hear()
        async with Socket(poller, "two") as second:
            assert await close_code(second) == consumer.CLOSE_TOO_MANY
    async with Socket(poller, "two") as third:
        await third.hear()
