"""A run whose server and worker are killed ends with the bytes of one left in peace."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.site import Site
from tests.faults.killing import SERVER, Hit, Outcome, Plan, storms, undisturbed

ROUNDS = 3
PLANS = [Plan(SERVER, "check"), Plan(SERVER, "merge"), Plan("ada", "training")]

Storm = tuple[list[Hit], list[Outcome]]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, models: Path) -> Iterator[Site]:
    with Site(tmp_path_factory.mktemp("kills"), models) as site:
        yield site


@pytest.fixture(scope="module")
def peace(site: Site) -> Outcome:
    return undisturbed(site, "peace", rounds=ROUNDS)


@pytest.fixture(scope="module")
def storm(site: Site, peace: Outcome) -> Storm:
    return storms(site, PLANS, random.Random(1), peace, rounds=ROUNDS)


def test_all_kills_struck(storm: Storm) -> None:
    hits, _ = storm
    assert [hit.plan for hit in hits] == PLANS


def test_no_result_is_lost_or_counted_twice(peace: Outcome, storm: Storm) -> None:
    _, outcomes = storm
    assert [outcome.faults for outcome in (peace, *outcomes)] == [[]] * (1 + len(outcomes))


def test_the_last_snapshot_has_the_same_bytes(peace: Outcome, storm: Storm) -> None:
    _, outcomes = storm
    assert {outcome.snapshot for outcome in outcomes} == {peace.snapshot}
