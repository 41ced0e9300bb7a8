"""Results that nobody can repeat (topk): two who only measure tell honest training from noise."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.cheat import HONEST_ROUNDS
from tests.e2e.site import PATIENCE_S, POLL_S, REPO, Site
from worker_client.models.seeded_base import tokenizer_json

SLUG, ROUNDS = "unrepeatable", 2
CHECKS = """
    select worker.name, round.number, "check".state, "check".evidence, result.state, result.code
    from coordination_check "check"
    join coordination_result result on result.id = "check".result_id
    join coordination_lease lease on lease.id = result.lease_id
    join coordination_worker worker on worker.id = lease.worker_id
    join coordination_unit unit on unit.id = result.unit_id
    join coordination_round round on round.id = unit.round_id
"""


def _make_run(site: Site, folder: Path) -> None:
    site.manage("migrate", "-v0")
    (folder / "tokenizer.json").write_text(tokenizer_json(), "utf-8")
    scratch = ("--format", "scratch-tiny", "--seq", "128")
    tokenizer = ("--tokenizer", str(folder / "tokenizer.json"))
    for name, file, shards in (("train", "architecture.md", 2), ("en", "volunteer.md", 1)):
        text = folder / f"{name}.txt"
        text.write_bytes((REPO / "docs" / file).read_bytes())
        where = ("--shards", str(shards), "--out", str(folder / name))
        site.manage("shard_text", str(text), *scratch, *where, *tokenizer)
    steps = ("--rounds", str(ROUNDS), "--ic-adim", "20", "--bs", "4", "--lr", "5e-3")
    data = ("--data", str(folder / "train"), "--heldout", str(folder / "en"))
    site.manage("create_run", SLUG, *scratch, *steps, *data, "--kodlama", "topk")


def _wait_until(what: Callable[[], object]) -> None:
    until = time.monotonic() + PATIENCE_S
    while not what():
        assert time.monotonic() < until, "waited in vain"
        time.sleep(POLL_S)


@pytest.fixture(scope="module")
def over(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The site after the run; the cheat sends noise in round 2."""
    folder = tmp_path_factory.mktemp("unrepeatable")
    with Site(folder) as site:
        _make_run(site, folder)
        site.start()

        def start(name: str, host: int, job: str, program: str = "worker_client"):
            address = ("--source-address", f"127.0.0.{host}")
            return site.worker(SLUG, name, "--jobs", job, *address, program=program)

        workers = [start("eva", 2, "evaluate"), start("eve", 3, "evaluate")]
        _wait_until(lambda: site.status(SLUG)["isci_sayisi"] == 2)
        workers.append(start("cheat", 4, "train", "tests.e2e.cheat"))
        _wait_until(lambda: [row for row in site.rows(CHECKS) if row[1] > HONEST_ROUNDS])
        workers.append(start("ada", 5, "train"))
        assert [worker.wait() for worker in workers] == [0, 0, 0, 0]
        yield site


def test_what_trained_honestly_is_plausible_and_merged(over):
    honest = [row for row in over.rows(CHECKS) if row[0] == "ada" or row[1] == 1]
    assert honest and {(state, fate) for _, _, state, _, fate, _ in honest} == {
        ("plausible", "merged")
    }
    for row in honest:
        opinions = json.loads(row[3])
        assert opinions[-1]["own"] > 0.02 and opinions[-1]["harm"] < 0
        assert {opinion["workers"][1] for opinion in opinions} <= {"eva", "eve"}


def test_noise_is_left_out_by_two_who_agree(over):
    noise = [row for row in over.rows(CHECKS) if row[0] == "cheat" and row[1] > 1]
    assert noise
    for _, _, state, evidence, fate, code in noise:
        assert (state, fate, code) == ("implausible", "screened", "olcum_tutmadi")
        opinions = json.loads(evidence)
        assert [opinion["agrees"] for opinion in opinions] == [False, False]
        assert opinions[0]["losses"] == pytest.approx(opinions[1]["losses"], rel=0.02)


def test_the_run_goes_to_its_end_and_learns(over):
    status = over.status(SLUG)
    assert status["durum"] == "bitti" and len(status["gecmis"]) == ROUNDS
    losses = [row["kayip"] for row in status["olcum"]]
    assert len(losses) == ROUNDS + 1 and losses[0] > losses[1] > losses[2]
