"""What the websocket of a coordinator's page tells; tests/modelen_site/live has the rest."""

from dataclasses import replace

import pytest
from channels.db import database_sync_to_async

from modelen_site.live import consumer
from modelen_site.live.routing import coordinators
from portal.heartbeats.beat import Beat
from portal.heartbeats.receive import receive
from portal.models import Coordinator
from tests.modelen_site.sockets import PATIENCE_S, close_code, watching

pytestmark = pytest.mark.django_db(transaction=True)

DEMO = "/ws/coordinators/demo/"


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coordinators, "source", replace(coordinators.source, interval_s=0.05))


async def test_a_heartbeat_is_news_and_silence_is_none(listed: Coordinator) -> None:
    async with watching(DEMO) as one, watching(DEMO) as two:
        first = await one.receive_json_from(PATIENCE_S)
        assert await two.receive_json_from(PATIENCE_S) == first
        assert await one.receive_nothing(timeout=0.3)
        await database_sync_to_async(receive)(listed, Beat(1, "acik"))
        second = await one.receive_json_from(PATIENCE_S)
        assert second != first
        assert await two.receive_json_from(PATIENCE_S) == second


async def test_whoever_comes_later_disturbs_nobody(listed: Coordinator) -> None:
    async with watching(DEMO) as one:
        first = await one.receive_json_from(PATIENCE_S)
        async with watching(DEMO) as two:
            assert await two.receive_json_from(PATIENCE_S) == first
            assert await one.receive_nothing(timeout=0.3)


async def test_what_is_not_listed_is_named_by_the_close_code(draft: Coordinator) -> None:
    for slug in ("demo", "nothing"):
        async with watching(f"/ws/coordinators/{slug}/") as socket:
            assert await close_code(socket) == consumer.CLOSE_NOT_FOUND
