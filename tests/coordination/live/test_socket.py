"""What the websocket of a run's page tells; tests/modelen_site/live has the rest."""

import pytest
from channels.db import database_sync_to_async

from coordination.rounds.pause import pause_run
from modelen_site.live import consumer
from tests.modelen_site.sockets import PATIENCE_S, close_code, watching

pytestmark = pytest.mark.django_db(transaction=True)


async def test_a_socket_gets_a_whole_snapshot_at_once_and_again_after_a_change(run):
    async with watching(f"/ws/c/{run.slug}/") as socket:
        first = await socket.receive_json_from(PATIENCE_S)
        assert first["phase"] == "waiting" and first["round"] == 1
        await database_sync_to_async(pause_run)(run, "a look at the data")
        second = await socket.receive_json_from(PATIENCE_S)
    assert second["version"] > first["version"]
    assert second["phase"] == "paused" and second["pause_reason"] == "a look at the data"


async def test_a_second_watcher_is_served_without_waiting_for_a_change(run):
    path = f"/ws/c/{run.slug}/"
    async with watching(path) as one, watching(path) as two:
        assert (await one.receive_json_from(PATIENCE_S))["round"] == 1
        assert (await two.receive_json_from(PATIENCE_S))["round"] == 1


async def test_a_run_that_does_not_exist_is_named_by_the_close_code(db):
    async with watching("/ws/c/nothing/") as socket:
        assert await close_code(socket) == consumer.CLOSE_NOT_FOUND
