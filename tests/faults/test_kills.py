"""A run whose server and worker are killed ends with the bytes of one left in peace."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import models  # noqa: F401
from tests.e2e.site import Site
from tests.faults.killing import SERVER, Hit, Outcome, Plan, disturbed, undisturbed

ROUNDS = 3
# The worker last: while it loads its model again, the other one may finish the run alone.
PLANS = [Plan(SERVER, "check"), Plan(SERVER, "merge"), Plan("ada", "training")]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, models: Path) -> Iterator[Site]:  # noqa: F811
    with Site(tmp_path_factory.mktemp("kills"), models) as site:
        yield site


@pytest.fixture(scope="module")
def peaceful(site: Site) -> Outcome:
    return undisturbed(site, "peace", rounds=ROUNDS)


@pytest.fixture(scope="module")
def stormy(site: Site, peaceful: Outcome) -> tuple[list[Hit], Outcome]:
    draw = random.Random(1)
    return disturbed(site, "storm", [*PLANS], draw, peaceful.round_s, rounds=ROUNDS)


def test_all_kills_struck(stormy: tuple[list[Hit], Outcome]) -> None:
    hits, _ = stormy
    assert [hit.plan for hit in hits] == PLANS


def test_no_result_is_lost_or_counted_twice(
    peaceful: Outcome, stormy: tuple[list[Hit], Outcome]
) -> None:
    assert peaceful.faults == []
    assert stormy[1].faults == []


def test_the_last_snapshot_has_the_same_bytes(
    peaceful: Outcome, stormy: tuple[list[Hit], Outcome]
) -> None:
    assert stormy[1].snapshot == peaceful.snapshot
