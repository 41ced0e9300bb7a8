"""A model that starts from nothing: text, shards, two volunteers, and a folder for transformers."""

import hashlib
import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from tests.e2e.site import PATIENCE_S, REPO, Site
from worker_client.models.seeded_base import tokenizer_json

SLUG = "scratch"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scratch")
    (folder / "tokenizer.json").write_text(tokenizer_json(), "utf-8")
    return folder


@pytest.fixture(scope="module")
def site(folder: Path) -> Iterator[Site]:
    """The run is over."""
    with Site(folder) as site:
        site.manage("migrate", "-v0")
        text, held_out = REPO / "docs/architecture.md", REPO / "docs/operator.md"
        (folder / "train.txt").write_bytes(text.read_bytes())
        (folder / "held-out.txt").write_bytes(held_out.read_bytes())
        scratch = ("--format", "scratch-tiny", "--seq", "128")
        shards = ("--shards", "2", "--out", str(folder / "shards"))
        tokenizer = ("--tokenizer", str(folder / "tokenizer.json"))
        site.manage("shard_text", str(folder / "train.txt"), *scratch, *shards, *tokenizer)
        steps = ("--rounds", "2", "--ic-adim", "25", "--bs", "4", "--lr", "5e-3")
        site.manage("create_run", SLUG, *scratch, *steps, "--data", str(folder / "shards"))
        prompts = folder / "prompts.jsonl"
        prompts.write_text('{"language": "en", "text": "The coordinator"}\n', "utf-8")
        site.manage("sample_run", SLUG, "--prompts", str(prompts), *tokenizer)
        site.start()
        workers = [site.worker(SLUG, name) for name in ("ada", "bob")]
        assert [worker.wait() for worker in workers] == [0, 0]
        yield site


def bits_per_byte(site: Site, folder: Path, number: int) -> float:
    files = ("--text", str(folder / "held-out.txt"), "--tokenizer", str(folder / "tokenizer.json"))
    told = site.manage("evaluate_run", SLUG, "--tur", str(number), *files, "--json")
    return json.loads(told.splitlines()[-1])["bits_per_byte"]


def test_held_out_text_is_predicted_better(site, folder):
    before, after = (bits_per_byte(site, folder, number) for number in (1, 3))
    assert before == pytest.approx(8.32, abs=0.1)  # log2(320)
    assert after < 0.7 * before


def test_summaries_are_compared_with_their_articles_own(site, folder):
    article = {"body": "One. Two. Three. Four.", "summary": "One. Two. Three.", "language": "en"}
    (folder / "articles.jsonl").write_text(json.dumps(article) + "\n", "utf-8")
    files = ("--summaries", str(folder / "articles.jsonl"))
    said = site.manage("evaluate_run", SLUG, *files, "--tokenizer", str(folder / "tokenizer.json"))
    (line,) = [line for line in said.splitlines() if line.startswith("rougeL")]
    assert line.split()[4] == "1.000"  # of the first three sentences
    assert "1 articles" in said


def test_transformers_loads_what_is_exported(site, folder):
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = ("--tokenizer", str(folder / "tokenizer.json"))
    site.manage("export_adapter", SLUG, "--out", str(folder / "model"), *tokenizer)
    model = AutoModelForCausalLM.from_pretrained(folder / "model")
    text = (folder / "held-out.txt").read_text("utf-8")[:500]
    ids = AutoTokenizer.from_pretrained(folder / "model")(text, return_tensors="pt")["input_ids"]
    with torch.inference_mode():
        loss = model(input_ids=ids, labels=ids).loss.item()
    assert loss < 0.75 * 5.77  # of ln(320), what an untrained model has


def test_the_run_says_that_it_has_no_base_model_and_whose_tokenizer_it_uses(site, folder):
    about = requests.get(f"{site.base(SLUG)}/bilgi", timeout=PATIENCE_S).json()
    assert "taban_model" not in about
    digest = hashlib.sha256((folder / "tokenizer.json").read_bytes()).hexdigest()
    assert about["belirtec_sha256"] == digest


def test_the_last_snapshot_writes_on_the_page_by_itself(site):
    until = time.monotonic() + PATIENCE_S
    board: dict = {"samples": {}}
    while (board["samples"] or {}).get("snapshot") != 3 and time.monotonic() < until:
        time.sleep(1)
        board = requests.get(f"{site.base(SLUG)}/pano", timeout=PATIENCE_S).json()
    samples = board["samples"]
    assert samples["snapshot"] == 3 and samples["sha256"] == board["snapshots"][0]["sha256"]
    (written,) = samples["texts"]
    assert written["prompt"] == "The coordinator" and written["text"]
    page = requests.get(f"{site.base(SLUG)}/", timeout=PATIENCE_S).text
    assert "What it writes" in page and "<b>The coordinator</b>" in page
