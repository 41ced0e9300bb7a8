"""What the websocket of a coordinator's page tells; tests/modelen_site/live has the rest."""

import random
import time
from dataclasses import replace
from typing import Any

import pytest
from channels.db import database_sync_to_async

from accounts.models import User
from benchmarks.directory import fill
from modelen_site.live import consumer
from modelen_site.live.routing import coordinators, directory
from portal.directory.find import Wanted, find
from portal.directory.sight import Sight
from portal.directory.watched import Directory
from portal.heartbeats.beat import Beat
from portal.heartbeats.receive import receive
from portal.listings.decide import suspend
from portal.models import Coordinator, Presence
from tests.modelen_site.sockets import PATIENCE_S, close_code, watching
from tests.portal.making import make_approved, verify

pytestmark = pytest.mark.django_db(transaction=True)

DEMO = "/ws/coordinators/demo/"
LIST = "/ws/coordinators/?shown=demo"


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    for poller in (coordinators, directory):
        monkeypatch.setattr(poller, "source", replace(poller.source, interval_s=0.05))


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


async def test_the_directory_tells_what_its_cards_show_now(listed: Coordinator) -> None:
    async with watching(LIST) as one, watching("/ws/coordinators/?shown=") as empty:
        first = await one.receive_json_from(PATIENCE_S)
        assert first["cards"]["demo"]["presence"] == "never"
        assert (await empty.receive_json_from(PATIENCE_S))["cards"] == {}
        beat = Beat(1, "acik", round=2, rounds=4, workers=3, loss=2.5)
        await database_sync_to_async(receive)(listed, beat)
        card = (await one.receive_json_from(PATIENCE_S))["cards"]["demo"]
        assert card == {
            "presence": "online", "proof": "verified", "stale": False, "in_progress": True,
            "round": 2, "rounds": 4, "workers": 3, "loss": 2.5,
        }  # fmt: skip
        assert await empty.receive_nothing(timeout=0.3)


async def test_who_leaves_the_directory_is_no_longer_told_of(
    listed: Coordinator, admin: User
) -> None:
    async with watching(LIST) as socket:
        assert "demo" in (await socket.receive_json_from(PATIENCE_S))["cards"]
        await database_sync_to_async(suspend)(listed, by=admin, message="a complaint")
        assert (await socket.receive_json_from(PATIENCE_S))["cards"] == {}


async def test_a_newcomer_is_told_to_those_who_look_for_such(
    listed: Coordinator, operator: User, admin: User
) -> None:
    """Its address is proven last, so that its approval is older than its listing."""
    approved = await database_sync_to_async(make_approved)(operator, admin, "late", languages="ku")
    paths = (f"/ws/coordinators/?language={language}&shown=demo" for language in ("ku", "de"))
    async with watching(next(paths)) as kurdish, watching(next(paths)) as german:
        assert (await kurdish.receive_json_from(PATIENCE_S))["newcomers"] == []
        await german.receive_json_from(PATIENCE_S)
        before = time.time()
        await database_sync_to_async(verify)(approved)
        [[slug, at]] = (await kurdish.receive_json_from(PATIENCE_S))["newcomers"]
        assert slug == "late" and before <= at <= time.time()
        assert await german.receive_nothing(timeout=0.3)


async def test_a_query_that_says_too_much_is_not_watched(db: None) -> None:
    async with watching(f"/ws/coordinators/?{'a=1&' * 2000}") as socket:
        assert await close_code(socket) == consumer.CLOSE_NOT_FOUND


def test_however_many_watch_two_queries_are_made(django_assert_num_queries: Any) -> None:
    fill(300)
    sights = [Sight.read({"q": f"news {n}", "shown": f"c1,c{n + 2}"}) for n in range(300)]
    reader = Directory()
    reader.versions(sights[:1])
    with django_assert_num_queries(2):
        versions = reader.versions(sights)
    assert {slug for slug, _card in versions[sights[7]][0]} == {"c1", "c9"}


def test_a_row_matches_exactly_when_it_would_be_found(db: None) -> None:
    fill(200)
    rows, draw = list(Coordinator.objects.listed()), random.Random(2)
    asked = {
        "q": ["", "news", "Işık", "ISIK tale", "100%", "_"],
        "presence": ["", *Presence.values],
        "mode": ["", "cpt", "sft"],
        "model": ["", "org1/model-1B", "ORG1/model-1b"],
        "language": ["", "tr", "ku", "xx"],
    }
    matched = 0
    for _time in range(150):
        wanted = Wanted.read({name: draw.choice(values) for name, values in asked.items()})
        matching = {row.pk for row in rows if wanted.matches(row)}
        assert matching == set(find(wanted).values_list("pk", flat=True)), wanted
        matched += bool(matching)
    assert matched > 20
