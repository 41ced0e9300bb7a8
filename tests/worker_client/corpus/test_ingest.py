"""A whole corpus is cleaned: everything counted, copies left out, the same bytes always."""

import json
from pathlib import Path

import pytest

from tests.worker_client.corpus.conftest import RULES
from tests.worker_client.corpus.texts import article, from_docs, write_articles
from worker_client.corpus.ingest import clean_files, ingest
from worker_client.corpus.quality import Rules
from worker_client.corpus.workspace import Step
from worker_client.data.errors import DataError


def written(corpus: Path) -> bytes:
    return b"".join(path.read_bytes() for path in clean_files(corpus))


def test_every_article_is_counted_by_language_and_reason(corpus, articles):
    languages = Step(corpus, "ingest").report()["languages"]
    assert languages["en"]["kept"] == 1 + 180
    assert languages["en"]["dropped"] == {"duplicate": 20}
    assert languages["de"]["kept"] == 1
    assert languages["de"]["dropped"] == {"near_duplicate": 1, "other_language": 1}
    assert {name: languages[name]["kept"] for name in ("fr", "tr", "ja")} == {
        "fr": 1, "tr": 1, "ja": 1,
    }  # fmt: skip
    lines = articles.read_bytes().count(b"\n")
    assert sum(row["read"] for row in languages.values()) == lines


def test_amounts_are_those_of_what_was_written(corpus):
    languages = Step(corpus, "ingest").report()["languages"]
    rows = [json.loads(line) for line in written(corpus).splitlines()]
    english = [f"{row['title']}\n\n{row['body']}" for row in rows if row["language"] == "en"]
    assert languages["en"]["kept"] == len(english)
    assert languages["en"]["characters"] == sum(map(len, english))
    assert languages["en"]["bytes"] == sum(len(text.encode()) for text in english)


@pytest.mark.parametrize(("processes", "piece_bytes"), [(1, 10_000), (2, 10_000), (3, 70_000)])
def test_neither_processes_nor_cuts_change_what_is_kept(
    corpus, articles, tmp_path, processes, piece_bytes
):
    ingest(tmp_path, [articles], RULES, processes=processes, piece_bytes=piece_bytes)
    assert written(tmp_path) == written(corpus)


def test_what_is_done_is_not_done_again(articles, tmp_path):
    first = ingest(tmp_path, [articles], RULES)
    (file,) = clean_files(tmp_path)
    before = file.stat().st_mtime_ns
    assert ingest(tmp_path, [articles], RULES) == first
    assert file.stat().st_mtime_ns == before
    ingest(tmp_path, [articles], RULES, again=True)
    assert file.stat().st_mtime_ns > before
    assert {path.name for path in tmp_path.iterdir()} == {"ingest", "lock"}


def test_other_rules_or_inputs_are_refused(articles, tmp_path):
    ingest(tmp_path / "corpus", [articles], RULES)
    with pytest.raises(DataError, match="other min_characters; add --again"):
        ingest(tmp_path / "corpus", [articles], Rules())
    more = write_articles(tmp_path / "more.jsonl", list(from_docs(2)))
    with pytest.raises(DataError, match="other inputs"):
        ingest(tmp_path / "corpus", [articles, more], RULES)


def test_one_process_at_a_time(articles, tmp_path):
    with Step(tmp_path, "pack").working({}), pytest.raises(DataError, match="another process"):
        ingest(tmp_path, [articles], RULES)


def test_nothing_left_is_an_error(tmp_path):
    path = write_articles(tmp_path / "a.jsonl", [article("fr")])
    with pytest.raises(DataError, match="no article is left"):
        ingest(tmp_path / "corpus", [path], Rules(("de",)))


def test_progress_ends_at_the_whole(articles, tmp_path):
    told = []
    ingest(tmp_path, [articles], RULES, progress=lambda *args: told.append(args), piece_bytes=9000)
    size = articles.stat().st_size
    assert told[-1] == ("ingest", size, size, "B")
    assert len(told) == -(-size // 9000)
