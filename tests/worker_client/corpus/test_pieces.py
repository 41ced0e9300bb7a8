"""Every line is in one piece, wherever the cuts fall."""

import pytest

from worker_client.corpus import pieces as module
from worker_client.corpus.pieces import article_files, lines, pieces
from worker_client.data.errors import DataError

CONTENT = b"one\n\n  \ntwo is longer\nx\n\xc3\xa9\xc3\xa9\xc3\xa9\nlast without an end"
WHOLE = [b"one\n", b"two is longer\n", b"x\n", "ééé\n".encode(), b"last without an end"]


@pytest.mark.parametrize("size", range(1, len(CONTENT) + 2))
def test_lines_come_once_and_in_order(tmp_path, size):
    path = tmp_path / "a.jsonl"
    path.write_bytes(CONTENT)
    cut = list(pieces([path], size))
    assert sum(piece.size for piece in cut) == len(CONTENT)
    assert [found for piece in cut for found in lines(piece)] == WHOLE


@pytest.mark.parametrize("size", [7, 64, 10_000])
def test_a_line_too_long_is_told_once_and_what_follows_is_read(tmp_path, monkeypatch, size):
    monkeypatch.setattr(module, "MAX_LINE_BYTES", 64)
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"before\n" + b"x" * 1000 + b"\n" + b"y" * 63 + b"\nafter\n" + b"z" * 64)
    found = [part for piece in pieces([path], size) for part in lines(piece)]
    assert found == [b"before\n", None, b"y" * 63 + b"\n", b"after\n", None]


def test_folders_are_searched_in_a_fixed_order(tmp_path):
    for name in ("b.jsonl", "a.txt", "c/d.jsonl", "a.jsonl"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    found = [str(path.relative_to(tmp_path)) for path in article_files([tmp_path])]
    assert found == ["a.jsonl", "b.jsonl", "c/d.jsonl"]


@pytest.mark.parametrize("name", ["missing.jsonl", "a.txt", "."])
def test_what_holds_no_articles_is_refused(tmp_path, name):
    (tmp_path / "a.txt").touch()
    with pytest.raises(DataError, match="no .jsonl file"):
        article_files([tmp_path / name])
