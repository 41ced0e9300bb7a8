"""Shards are those of ``shard_text``: equal, or one language each, listed with digests."""

import hashlib
import json
from collections import Counter

import numpy as np
import pytest

from tests.worker_client.corpus.conftest import SEQ
from worker_client.contract.formats import load_format
from worker_client.corpus.documents import Split
from worker_client.corpus.pack import rows_file
from worker_client.corpus.shard import shard
from worker_client.corpus.workspace import Step
from worker_client.data.errors import DataError
from worker_client.data.shard import open_shard

S = load_format("scratch-s")


def ids(folder, row, corpus):
    tokenizer = Step(corpus, "tokenizer").report()["sha256"]
    return open_shard(folder / row["file"], S, SEQ, "cpt", tokenizer).input_ids


def rows_of(corpus, language):
    return np.fromfile(rows_file(corpus / "pack", Split(language, False)), "<i4").reshape(-1, SEQ)


def as_set(rows):
    return {row.tobytes() for row in rows}


def test_equal_shards_hold_all_rows_and_every_language_evenly(corpus, tmp_path):
    report = shard(corpus, tmp_path / "out", 3)
    found = [ids(tmp_path / "out", row, corpus) for row in report["shards"]]
    languages = Step(corpus, "pack").report()["languages"]
    total = sum(parts["train"]["rows"] for parts in languages.values() if "train" in parts)
    assert {len(rows) for rows in found} == {total // 3}
    every = Counter(row.tobytes() for rows in found for row in rows)
    packed = Counter(row.tobytes() for name in languages for row in rows_of(corpus, name))
    assert every <= packed and packed.total() - every.total() == total % 3
    english = as_set(rows_of(corpus, "en"))
    counts = [sum(row.tobytes() in english for row in rows) for rows in found]
    assert max(counts) - min(counts) <= 0.02 * max(counts)
    # Spread over the whole: half of a shard has half of what is English.
    half = found[0][: len(found[0]) // 2]
    assert sum(row.tobytes() in english for row in half) == pytest.approx(counts[0] / 2, rel=0.02)


def test_one_language_each(corpus, tmp_path):
    report = shard(corpus, tmp_path / "out", 5, by_language=True)
    assert sorted(row["language"] for row in report["shards"]) == ["de", "en", "fr", "ja", "tr"]
    for row in report["shards"]:
        assert np.array_equal(ids(tmp_path / "out", row, corpus), rows_of(corpus, row["language"]))


def test_files_are_listed_with_their_digests(corpus, tmp_path):
    out = tmp_path / "out"
    report = shard(corpus, out, 2, source="Docs", licence="CC0")
    assert json.loads((out / "shards.json").read_text()) == report
    assert (report["source"], report["licence"]) == ("Docs", "CC0")
    for row in report["shards"] + report["held_out"]:
        body = (out / row["file"]).read_bytes()
        assert (row["sha256"], row["size"]) == (hashlib.sha256(body).hexdigest(), len(body))
        assert row["rows"] == len(ids(out, row, corpus))
    named = {row["file"] for row in report["shards"] + report["held_out"]}
    assert {path.name for path in out.iterdir()} == named | {"shards.json", "plan.json"}


def test_the_list_describes_the_corpus(corpus, tmp_path):
    about = shard(corpus, tmp_path / "out", 2)["corpus"]
    assert about["languages"]["en"]["dropped"]["duplicate"] == 20
    assert about["languages"]["en"]["train"]["tokens"] > 1000
    assert {sample["language"] for sample in about["samples"]} == set(about["languages"])
    (turkish,) = [sample for sample in about["samples"] if sample["language"] == "tr"]
    assert turkish["title"] == "Vapur" and turkish["text"].startswith("Vapur günde iki kez")


def test_again_leaves_alone_what_it_did_not_make(corpus, tmp_path):
    out = tmp_path / "out"
    shard(corpus, out, 4)
    (out / "notes.txt").write_text("mine")
    with pytest.raises(DataError, match="other shards; add --again"):
        shard(corpus, out, 2)
    report = shard(corpus, out, 2, again=True)
    made = {row["file"] for row in report["shards"] + report["held_out"]}
    assert {path.name for path in out.iterdir()} == made | {"shards.json", "plan.json", "notes.txt"}


def test_processes_change_nothing(corpus, tmp_path):
    one, other = (shard(corpus, tmp_path / str(n), 4, processes=n) for n in (1, 2))
    assert one == other


@pytest.mark.parametrize(
    ("shards", "by_language", "why"),
    [(10**6, False, "too few for 1000000 shards"), (500, True, "too few for 100"),
     (6, True, "6 shards cannot be shared among 5 languages")],
)  # fmt: skip
def test_what_cannot_be_cut_says_why(corpus, tmp_path, shards, by_language, why):
    with pytest.raises(DataError, match=why):
        shard(corpus, tmp_path / "out", shards, by_language=by_language)


def test_a_folder_with_other_shards_is_left_alone(corpus, tmp_path):
    (tmp_path / "shards.json").write_text("[]")
    with pytest.raises(DataError, match="holds other work"):
        shard(corpus, tmp_path, 2)
    with pytest.raises(DataError, match="holds other work"):
        shard(corpus, tmp_path, 2, again=True)
    assert (tmp_path / "shards.json").read_text() == "[]"
