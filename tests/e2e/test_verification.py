"""Three real workers at three addresses, of whom one cheats; the server is killed meanwhile."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.site import PATIENCE_S, POLL_S, Site, WorkerProcess

SLUG, ROUNDS, KILLS = "checked", 3, 3
HONEST = {"ada": "127.0.0.2", "bob": "127.0.0.3"}
RESULTS = """
    select worker.name, round.number, unit.job, result.state, result.holds_unit
    from coordination_result result
    join coordination_lease lease on lease.id = result.lease_id
    join coordination_worker worker on worker.id = lease.worker_id
    join coordination_unit unit on unit.id = result.unit_id
    join coordination_round round on round.id = unit.round_id
"""
CHECKS = """
    select worker.name, "check".state, "check".evidence, round.number
    from coordination_check "check"
    join coordination_result result on result.id = "check".result_id
    join coordination_lease lease on lease.id = result.lease_id
    join coordination_worker worker on worker.id = lease.worker_id
    join coordination_unit unit on unit.id = result.unit_id
    join coordination_round round on round.id = unit.round_id
"""


def _wait_until_known(site: Site, count: int) -> None:
    """Return when so many workers have asked for work."""
    until = time.monotonic() + PATIENCE_S
    while site.status(SLUG)["isci_sayisi"] < count:
        assert time.monotonic() < until, "the workers do not come"
        time.sleep(POLL_S)


def _kill_during_checks(site: Site) -> int:
    """Kill the server ``KILLS`` times while a result is under check; how often that was."""
    assert site.server is not None
    pending = "select count(*) from coordination_check where state = 'pending'"
    running = "select state from coordination_run where state <> 'finished'"
    kills, last = 0, 0
    until = time.monotonic() + PATIENCE_S
    while kills < KILLS and site.rows(running) and time.monotonic() < until:
        (checks,) = site.rows("select count(*) from coordination_check")[0]
        if checks > last and site.rows(pending) != [(0,)]:
            site.server.kill()
            site.start()
            kills, last = kills + 1, checks
        time.sleep(POLL_S)
    return kills


@pytest.fixture(scope="module")
def over(tmp_path_factory: pytest.TempPathFactory, models: Path) -> Iterator[tuple[Site, int]]:
    """The site after the run, and how often its server was killed."""
    with Site(tmp_path_factory.mktemp("checked"), models) as site:
        site.make_run(SLUG, rounds=ROUNDS, shards=3, inner_steps=3, start=False)
        site.start()
        workers: list[WorkerProcess] = [
            site.worker(SLUG, name, "--source-address", address) for name, address in HONEST.items()
        ]
        fourth = ("--source-address", "127.0.0.4")
        workers.append(site.worker(SLUG, "cheat", *fourth, program="tests.e2e.cheat"))
        _wait_until_known(site, len(workers))
        site.manage("resume_run", SLUG)
        kills = _kill_during_checks(site)
        site.wait_until_over(SLUG)
        yield site, kills


def test_the_run_ends_with_every_shard_of_every_round_merged_once(over) -> None:
    site, kills = over
    assert kills == KILLS
    merged = [row for row in site.rows(RESULTS) if row[3] == "merged"]
    assert len(merged) == 3 * ROUNDS and all(row[2] == "train" and row[4] for row in merged)
    assert site.status(SLUG)["sonuc"]["kabul"] == 3 * ROUNDS


def test_noise_is_never_merged(over) -> None:
    cheated = [row for row in over[0].rows(RESULTS) if row[0] == "cheat" and row[2] == "train"]
    assert all(number == 1 for _, number, _, state, _ in cheated if state == "merged")
    assert any(number > 1 and state == "screened" for _, number, _, state, _ in cheated)


def test_each_verdict_rests_on_evidence(over) -> None:
    checks = over[0].rows(CHECKS)
    assert len(checks) >= 3 * ROUNDS
    for name, state, evidence, number in checks:
        cheated = name == "cheat" and number > 1
        assert state == ("invalid" if cheated else "valid")
        opinions = json.loads(evidence)
        assert sum(o["agrees"] for o in opinions) == 1
        for opinion in opinions:
            noise = "cheat" in opinion["workers"] and number > 1
            assert (opinion["relative"] > 1) if noise else (opinion["relative"] < 0.01)


def test_nobody_checks_their_own_or_from_their_authors_address(over) -> None:
    for _, _, evidence, _ in over[0].rows(CHECKS):
        for opinion in json.loads(evidence):
            assert len(set(opinion["workers"])) == 2


def test_who_cheated_has_lost_its_standing_and_the_others_have_not(over) -> None:
    query = "select name, consecutive_valid, checks_invalid, quota from coordination_worker"
    standing = {name: rest for name, *rest in over[0].rows(query)}
    consecutive, invalid, quota = standing["cheat"]
    assert consecutive == 0 and invalid >= 2  # as an author and as a verifier
    assert standing["ada"][1] == standing["bob"][1] == 0
    assert quota < standing["ada"][2] == standing["bob"][2]
