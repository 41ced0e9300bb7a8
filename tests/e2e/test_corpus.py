"""From articles to a trained round: every step of ``corpus``, a run, a volunteer."""

import json
from collections.abc import Iterator

import pytest
import requests

from tests.e2e.site import PATIENCE_S, Site
from tests.worker_client.corpus.texts import BY_HAND, article, from_docs, write_articles

SLUG = "from-articles"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The run is over."""
    folder = tmp_path_factory.mktemp("corpus")
    rows = [*map(article, BY_HAND), *from_docs(200)]
    articles = write_articles(folder / "articles.jsonl", rows)
    with Site(folder) as site:
        site.manage("migrate", "-v0")
        corpus, shards = str(folder / "corpus"), str(folder / "shards")
        site.manage("corpus", "ingest", corpus, str(articles), "--min-characters", "100")
        # Of the few articles more than one in a hundred, which may be none.
        held = ("--held-out", "0.2")
        site.manage("corpus", "tokenizer", corpus, "--vocabulary", "320", *held)
        site.manage("corpus", "pack", corpus, "--format", "scratch-tiny", "--seq", "64", *held)
        site.manage("corpus", "shard", corpus, "--shards", "2", "--out", shards)
        steps = ("--rounds", "1", "--ic-adim", "10", "--bs", "4", "--seq", "64", "--lr", "5e-3")
        site.manage("create_run", SLUG, "--format", "scratch-tiny", "--data", shards, *steps)
        site.start()
        assert site.worker(SLUG, "ada").wait() == 0
        yield site


def test_the_round_is_published(site):
    assert site.status(SLUG)["durum"] == "bitti"


def test_the_run_names_the_tokenizer(site):
    about = requests.get(f"{site.base(SLUG)}/bilgi", timeout=PATIENCE_S).json()
    report = json.loads((site.folder / "corpus/tokenizer/report.json").read_text())
    assert about["belirtec_sha256"] == report["sha256"]


def test_what_is_held_out_is_there_to_be_measured(site):
    listed = json.loads((site.folder / "shards/shards.json").read_text())["held_out"]
    wanted = [(row["language"], row["rows"]) for row in listed]
    assert wanted
    assert site.rows("SELECT language, rows FROM coordination_heldout ORDER BY language") == wanted
