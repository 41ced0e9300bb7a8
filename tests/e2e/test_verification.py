"""Three real workers at three addresses, of whom one cheats; the server is killed meanwhile."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.cheat import HONEST_ROUNDS
from tests.e2e.site import PATIENCE_S, POLL_S, Site, WorkerProcess

# More rounds than it takes: which shards the cheat gets, and when, is the machine's doing.
SLUG, ROUNDS, KILLS = "checked", 40, 3
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
PUBLISHED = "select number from coordination_round where state = 'published' order by number"


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


def _wait_until_caught(site: Site) -> None:
    """Return when the cheat has trained noise, has been found wrong at least twice, and a round
    was published in spite of it."""
    until = time.monotonic() + PATIENCE_S
    wrong = "select checks_invalid from coordination_worker where name = 'cheat'"
    while not (
        site.rows(wrong)[0][0] >= 2
        and _trained_noise(site, "screened")
        and len(site.rows(PUBLISHED)) > HONEST_ROUNDS
    ):
        assert site.status(SLUG)["durum"] != "bitti", "the cheat got away"
        assert time.monotonic() < until, "nobody catches the cheat"
        time.sleep(POLL_S)


def _trained_noise(site: Site, fate: str) -> list[tuple]:
    """The cheat's training after its honest round that had this fate."""
    wanted = ("cheat", "train", fate)
    return [r for r in site.rows(RESULTS) if (r[0], r[2], r[3]) == wanted and r[1] > HONEST_ROUNDS]


@pytest.fixture(scope="module")
def over(tmp_path_factory: pytest.TempPathFactory, models: Path) -> Iterator[tuple[Site, int]]:
    """The site once the cheat is caught, at rest, and how often its server was killed."""
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
        _wait_until_caught(site)
        for worker in workers:
            worker.stop()
        yield site, kills


def test_every_shard_of_every_published_round_is_merged_once(over) -> None:
    site, kills = over
    assert kills == KILLS
    published = [number for (number,) in site.rows(PUBLISHED)]
    assert published == list(range(1, len(published) + 1)) and len(published) > HONEST_ROUNDS
    results = site.rows(RESULTS)
    merged = [row for row in results if row[3] == "merged"]
    assert sorted(row[1] for row in merged) == sorted(3 * published)
    assert all(row[2] == "train" and row[4] for row in merged)
    waiting = [row for row in results if row[2:4] == ("train", "waiting")]
    assert site.status(SLUG)["sonuc"]["kabul"] == len(merged) + len(waiting)


def test_noise_is_never_merged(over) -> None:
    assert _trained_noise(over[0], "screened") and not _trained_noise(over[0], "merged")


def test_each_verdict_rests_on_evidence(over) -> None:
    checks = [check for check in over[0].rows(CHECKS) if check[1] != "pending"]
    assert len(checks) >= 3 * len(over[0].rows(PUBLISHED))
    for name, state, evidence, number in checks:
        cheated = name == "cheat" and number > HONEST_ROUNDS
        assert state == ("invalid" if cheated else "valid")
        opinions = json.loads(evidence)
        assert sum(o["agrees"] for o in opinions) == 1
        for opinion in opinions:
            noise = "cheat" in opinion["workers"] and number > HONEST_ROUNDS
            assert (opinion["relative"] > 1) if noise else (opinion["relative"] < 0.01)


def test_nobody_checks_their_own_or_from_their_authors_address(over) -> None:
    for _, _, evidence, _ in over[0].rows(CHECKS):
        for opinion in json.loads(evidence):
            assert len(set(opinion["workers"])) == 2


def test_who_cheated_has_lost_its_standing_and_the_others_have_not(over) -> None:
    query = "select name, consecutive_valid, checks_invalid, quota from coordination_worker"
    standing = {name: rest for name, *rest in over[0].rows(query)}
    consecutive, invalid, quota = standing["cheat"]
    assert consecutive == 0 and invalid >= 2
    assert standing["ada"][1] == standing["bob"][1] == 0
    assert quota < standing["ada"][2] == standing["bob"][2]
