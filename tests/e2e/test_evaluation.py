"""A model from scratch, one who trains, and one without a graphics card who only measures."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from tests.e2e.site import PATIENCE_S, REPO, Site
from worker_client.models.seeded_base import tokenizer_json

SLUG, ROUNDS = "measured", 2
TEXTS = {"train": "architecture.md", "en": "operator.md", "md": "visitor.md"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("measured")
    (folder / "tokenizer.json").write_text(tokenizer_json(), "utf-8")
    return folder


@pytest.fixture(scope="module")
def over(folder: Path) -> Iterator[tuple[Site, list[dict]]]:
    """The site after the run, and what the evaluator told."""
    with Site(folder) as site:
        site.manage("migrate", "-v0")
        scratch = ("--format", "scratch-tiny", "--seq", "128")
        tokenizer = ("--tokenizer", str(folder / "tokenizer.json"))
        for name, file in TEXTS.items():
            where = ("--shards", "1", "--out", str(folder / name))
            text = folder / f"{name}.txt"
            text.write_bytes((REPO / "docs" / file).read_bytes())
            site.manage("shard_text", str(text), *scratch, *where, *tokenizer)
        steps = ("--rounds", str(ROUNDS), "--ic-adim", "25", "--bs", "4", "--lr", "5e-3")
        data = ("--data", str(folder / "train"), "--heldout", str(folder / "en"))
        site.manage("create_run", SLUG, *scratch, *steps, *data, str(folder / "md"), "--no-verify")
        site.start()
        ada = site.worker(SLUG, "ada", "--jobs", "train")
        assert ada.wait() == 0
        eva = site.worker(SLUG, "eva", "--jobs", "evaluate")
        assert eva.wait() == 0
        yield site, eva.events


def test_every_snapshot_is_measured_once_in_every_language(over):
    status = over[0].status(SLUG)
    numbers = [(row["surum"], row["dil"]) for row in status["olcum"]]
    assert numbers == [(n, language) for n in range(1, ROUNDS + 2) for language in ("en", "md")]
    assert status["sonuc"] == {"kabul": ROUNDS, "ret": 0, "elenen": 0}


def test_it_is_what_the_server_itself_measures(over, folder):
    site, _ = over
    for row in site.status(SLUG)["olcum"][-2:]:
        shard = folder / row["dil"] / "shard-00000.safetensors"
        told = site.manage(
            *("evaluate_run", SLUG, "--tur", str(row["surum"]), "--shard", str(shard), "--json"),
            *("--tokenizer", str(folder / "tokenizer.json")),
        )
        own = json.loads(told.splitlines()[-1])
        assert row["kayip"] == pytest.approx(own["loss"], rel=0.01)
        assert row["bit_bayt"] == pytest.approx(own["bits_per_byte"], rel=0.01)


def test_the_loss_falls(over):
    losses = [row["kayip"] for row in over[0].status(SLUG)["olcum"] if row["dil"] == "en"]
    assert losses[0] == pytest.approx(5.77, abs=0.1)  # ln 320
    assert losses[0] > losses[1] > losses[2]


def test_who_measures_does_nothing_else(over):
    leased = [event for event in over[1] if event["event"] == "leased"]
    assert {event["job"] for event in leased} == {"olc"} and len(leased) == 2 * (ROUNDS + 1)
    (finished,) = [event for event in over[1] if event["event"] == "finished"]
    assert (finished["reason"], finished["accepted"]) == ("run_over", 2 * (ROUNDS + 1))
    assert finished["tokens"] == 0


def test_the_page_shows_it(over):
    page = requests.get(f"{over[0].base(SLUG)}/", timeout=PATIENCE_S).text
    assert "Text that nobody trains on" in page and ">md<" in page
