"""Rows hold every document once, whole, in a drawn order, and what is held out stays out."""

import json
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer

from tests.worker_client.corpus.conftest import HELD_OUT, SEQ, packing
from worker_client.corpus.documents import Split, is_held_out
from worker_client.corpus.ingest import clean_files
from worker_client.corpus.pack import pack, rows_file
from worker_client.corpus.tokenizer import tokenizer_file
from worker_client.corpus.workspace import Step
from worker_client.data.article import Article
from worker_client.data.errors import DataError
from worker_client.models.digests import sha256_file


def texts(corpus: Path, language: str) -> list[str]:
    rows = [json.loads(line) for path in clean_files(corpus) for line in path.open()]
    return [Article(**row).text for row in rows if row["language"] == language]


def packed(corpus: Path, language: str, held_out: bool = False) -> list[str]:
    """The documents in the rows of a split, in their order; the last one may be cut off."""
    tokenizer = Tokenizer.from_file(str(tokenizer_file(corpus)))
    ids = np.fromfile(rows_file(corpus / "pack", Split(language, held_out)), "<i4")
    end = tokenizer.token_to_id("<|endoftext|>")
    stops = np.flatnonzero(ids == end)
    return [tokenizer.decode(part[part != end].tolist()) for part in np.split(ids, stops)]


def test_all_that_is_not_held_out_is_in_the_rows(corpus):
    *whole, cut = packed(corpus, "en")
    wanted = [text for text in texts(corpus, "en") if not is_held_out(text, HELD_OUT)]
    assert len(wanted) - len(whole) <= 1
    assert set(whole) <= set(wanted) and len(set(whole)) == len(whole)
    (missing,) = set(wanted) - set(whole) or {""}
    assert missing.startswith(cut.removesuffix("\ufffd"))


def test_held_out_articles_are_apart_and_listed(corpus):
    held_out = [text for text in texts(corpus, "en") if is_held_out(text, HELD_OUT)]
    assert 5 < len(held_out) < 40
    assert not set(held_out) & set(packed(corpus, "en"))
    path = corpus / "pack" / "held-out-en.jsonl"
    assert {Article(**json.loads(line)).text for line in path.open()} == set(held_out)
    assert Step(corpus, "pack").report()["languages"]["en"]["held_out"]["documents"] == len(
        held_out
    )


def test_the_order_is_drawn_by_the_seed(corpus, tmp_path):
    copy = tmp_path / "corpus"
    copy.mkdir()
    for name in ("ingest", "tokenizer"):
        (copy / name).symlink_to(corpus / name)
    pack(copy, packing(corpus, seed=1))
    first, second = packed(corpus, "en")[:-1], packed(copy, "en")[:-1]
    assert first != second and first != sorted(first)
    assert len(set(first) ^ set(second)) <= 2
    order = [first.index(text) for text in texts(corpus, "en") if text in first]
    assert abs(np.corrcoef(order, range(len(order)))[0, 1]) < 0.3


def test_the_report_adds_up(corpus):
    report = Step(corpus, "pack").report()
    assert report["tokenizer"] == sha256_file(tokenizer_file(corpus))
    assert set(report["languages"]) == {"en", "de", "fr", "tr", "ja"}
    for language, parts in report["languages"].items():
        found = [part["documents"] for part in parts.values()]
        assert sum(found) == len(texts(corpus, language))
        for name, part in parts.items():
            tokens = part["tokens"] + part["documents"]
            assert part["rows"] == tokens // SEQ
            path = rows_file(corpus / "pack", Split(language, name == "held_out"))
            assert path.stat().st_size == 4 * SEQ * part["rows"]


def test_before_ingest_there_is_nothing_to_pack(tmp_path, corpus):
    with pytest.raises(DataError, match="has not been through `corpus ingest`"):
        pack(tmp_path, packing(corpus))


def test_processes_change_nothing(corpus, tmp_path):
    (tmp_path / "ingest").symlink_to(corpus / "ingest")
    report = pack(tmp_path, packing(corpus), processes=2)
    assert report == Step(corpus, "pack").report()
    for path in (corpus / "pack").glob("*.i4"):
        assert path.read_bytes() == (tmp_path / "pack" / path.name).read_bytes()
