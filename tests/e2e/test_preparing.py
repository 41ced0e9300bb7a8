"""Volunteers make the shards of raw text, and then train on them, whoever is killed meanwhile."""

import hashlib
import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from coordination.preparing.cut import cut
from tests.e2e.site import PATIENCE_S, POLL_S, REPO, Site
from worker_client.contract.formats import load_format
from worker_client.corpus.chunk import make_rows
from worker_client.corpus.mix import mix_chunks
from worker_client.models.load import served_codec
from worker_client.models.seeded_base import tokenizer_json

SLUG, SHARDS, SEQ, CHUNKS = "raw", 2, 128, 3
FINDINGS = """
    select worker.name, "check".state from coordination_check "check"
    join coordination_result result on result.id = "check".result_id
    join coordination_lease lease on lease.id = result.lease_id
    join coordination_worker worker on worker.id = lease.worker_id
    join coordination_unit unit on unit.id = result.unit_id
    where unit.job = 'preprocess'
"""


def write_articles(path: Path) -> None:
    """As many as make three chunks, and some that nobody keeps."""
    text = (REPO / "docs/architecture.md").read_text("utf-8")
    parts = [text[start : start + 1500] for start in range(0, len(text) - 1500, 1500)]
    with path.open("w", encoding="utf-8") as file:
        while file.tell() < 2_300_000:
            for number, part in enumerate(parts):
                row = {"title": f"Part {number}", "body": part, "language": "en"}
                file.write(json.dumps(row) + "\n" + '{"body": "too short"}\n')


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("raw")
    (folder / "tokenizer.json").write_text(tokenizer_json(), "utf-8")
    write_articles(folder / "articles.jsonl")
    return folder


@pytest.fixture(scope="module")
def over(folder: Path) -> Iterator[Site]:
    """The site after the run; ``bob`` was killed with text in hand, and the server when all of it
    had come."""
    with Site(folder) as site:
        site.manage("migrate", "-v0")
        raw = ("--raw", str(folder / "articles.jsonl"), "--languages", "en")
        tokenizer = ("--tokenizer", str(folder / "tokenizer.json"), "--seq", str(SEQ))
        steps = ("--rounds", "1", "--ic-adim", "5", "--bs", "4", "--lr", "5e-3")
        shards = ("--format", "scratch-tiny", "--shards", str(SHARDS))
        said = site.manage("create_run", SLUG, *raw, *tokenizer, *steps, *shards)
        assert f"{CHUNKS} chunks of text" in said
        site.start()
        jobs = ("--jobs", "preprocess", "train", "verify")
        workers = [site.worker(SLUG, name, *jobs) for name in ("ada", "bob")]
        for worker in workers:
            worker.wait_for("waiting")
        assert site.status(SLUG)["hazirlik"] == {"toplam": CHUNKS, "tamam": 0}
        for name in ("ada", "bob"):
            site.manage("workers", SLUG, "show_text", name)
        workers[1].wait_until(lambda: "text" in {it.get("what") for it in workers[1].events})
        workers[1].kill()
        workers[1] = site.worker(SLUG, "bob", *jobs)
        _wait_for_chunks(site, CHUNKS)
        site.kill_part("server")  # while it compares or mixes
        site.start()
        assert [worker.wait() for worker in workers] == [0, 0]
        yield site


def _wait_for_chunks(site: Site, count: int) -> None:
    """Return when so many are done, or the run has begun."""
    until = time.monotonic() + PATIENCE_S
    while site.status(SLUG).get("hazirlik", {}).get("tamam", CHUNKS) < count:
        assert time.monotonic() < until, "waited in vain for the chunks"
        time.sleep(POLL_S)


def test_the_run_begins_and_ends(over):
    status = over.status(SLUG)
    assert status["durum"] == "bitti" and len(status["gecmis"]) == 1
    assert "hazirlik" not in status


def test_both_prepared_and_trained(over):
    told = [event for program in over._programs for event in program.told()]
    prepared = [event for event in told if event["event"] == "prepared"]
    assert sum(event["rows"] for event in prepared) > 1000 and len(prepared) >= CHUNKS
    assert all(event["kept"] * 2 - event["lines"] in (-1, 0, 1) for event in prepared)
    assert len([event for event in told if event["event"] == "trained"]) >= SHARDS


def test_the_shards_are_those_that_one_process_makes(over, folder):
    codec = served_codec(folder / "tokenizer.json", load_format("scratch-tiny"))
    files = []
    for number, chunk in enumerate(cut([folder / "articles.jsonl"])):
        raw, rows = folder / f"{number}.jsonl", folder / f"{number}.i4"
        raw.write_bytes(chunk)
        rows.write_bytes(make_rows(raw, codec, SEQ, ("en",)).rows.astype("<i4").tobytes())
        files.append(rows)
    alone = folder / "alone"
    alone.mkdir()
    wanted = [shard.sha256 for shard in mix_chunks(files, codec, SEQ, SHARDS, alone)]
    query = 'select sha256 from coordination_datashard order by "index"'
    assert [row[0] for row in over.rows(query)] == wanted
    for index, digest in enumerate(wanted):
        served = requests.get(f"{over.base(SLUG)}/veri?parca={index}", timeout=PATIENCE_S).content
        assert hashlib.sha256(served).hexdigest() == digest


def test_the_text_is_gone_everywhere(over, folder):
    assert {row[0] for row in over.rows("select sha256 from coordination_chunk")} == {""}
    until = time.monotonic() + PATIENCE_S
    while (found := _holding(over.var, folder)) and time.monotonic() < until:
        time.sleep(POLL_S)
    assert found == []


def _holding(*roots: Path) -> list[Path]:
    """Files below the server's blobs and the workers' state folders with a line of the text."""
    var, folder = roots
    places = [var / "blobs", var / "preparing", folder / "ada", folder / "bob"]
    files = [path for place in places for path in place.rglob("*") if path.is_file()]
    return [path for path in files if b'{"title": "Part 0"' in path.read_bytes()]


def test_the_first_chunk_of_each_was_repeated_and_right(over):
    found = over.rows(FINDINGS)
    assert {name for name, _ in found} <= {"ada", "bob"} and found
    assert {state for _, state in found} == {"valid"}
