"""Whatever fails, a run ends with the bytes of one left in peace, and each result counts once.

Small: every kind of fault strikes here at least once. ``python -m benchmarks.faults`` goes on.
"""

import random
from collections.abc import Iterator

import pytest

from tests.e2e.site import Site
from tests.faults.breaking import (
    WrongClock,
    filling,
    killing_a_part,
    killing_a_volunteer,
    small_disk,
)
from tests.faults.enduring import Crew, Record, endure, now_and_then, peacefully, suffer
from tests.faults.judging import Judgement
from tests.faults.production import DURABLE, Production
from tests.faults.proxy import Harm, proxying, seeded
from tests.servers import postgresql_service, redis_service

# What the coordinator logs with an answer of 500.
MISTAKE = "unexpected error at"
TWO_OF_EACH = ("server", "server-2", "celery", "celery-2", "beat", "beat-2")


def mistakes(site: Site) -> list[str]:
    """What the coordinator logged of its own mistakes, with the tracebacks."""
    return site.said(MISTAKE, then=120)


@pytest.fixture
def draw() -> random.Random:
    return random.Random(7)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with Site(tmp_path_factory.mktemp("embedded")) as site:
        site.start()
        yield site


@pytest.fixture(scope="module")
def peace(site: Site) -> Judgement:
    return endure(site, "peace", peacefully, random.Random(1))[1]


def test_a_run_in_peace_is_whole(peace: Judgement) -> None:
    assert (peace.rounds, peace.faults) == (6, [])


def test_a_line_that_harms_what_it_carries(site, peace, draw) -> None:
    with proxying(site.port, seeded(5, 0.4)) as (port, proxy):
        record = Record("line")
        record.add(1, endure(site, "line", peacefully, draw, [port])[1])
    assert record.faults(peace) == [] and mistakes(site) == []
    assert set(proxy.done) == set(Harm)


@pytest.mark.needs("namespaces")  # the right to mount
def test_a_disk_that_fills_up(tmp_path, peace, draw) -> None:
    with small_disk(tmp_path / "small") as disk, Site(tmp_path, MODELEN_VAR=str(disk)) as site:
        site.var = disk
        site.start()
        record = suffer(site, "disk", now_and_then(filling(disk), 3, 0.5), draw, 3)
        assert mistakes(site) == []
    assert record.faults(peace) == []


@pytest.mark.needs("faketime")
def test_a_clock_that_is_set_forward_and_back(tmp_path, peace, draw) -> None:
    clock = WrongClock(tmp_path)
    with Site(tmp_path, None, **clock.variables) as site:
        site.start()
        record = suffer(site, "clock", now_and_then(clock.jump, 4, 0.5), draw, 4)
        assert mistakes(site) == []
    assert record.faults(peace) == []


@pytest.mark.needs("postgresql", "redis")
def test_two_of_everything_and_each_part_killed(tmp_path, peace, draw) -> None:
    with postgresql_service(*DURABLE) as database, redis_service() as broker:
        with Production(tmp_path, database, broker, TWO_OF_EACH) as site:
            site.start()
            left = ["server", "celery", "beat", "postgresql", "redis"]
            draw.shuffle(left)

            def kill(crew: Crew, draw: random.Random) -> None:
                killing_a_volunteer(crew, draw)
                killing_a_part(site, left.pop())(crew, draw)

            ports = list(site.ports.values())
            record = Record("parts")
            while left:
                slug = f"parts-{len(left)}"
                disturb = now_and_then(kill, len(left), 0.7)
                record.add(*endure(site, slug, disturb, draw, ports))
            assert mistakes(site) == []
    assert record.faults(peace) == []
