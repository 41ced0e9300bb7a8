"""Rows of a chunk, and shards of all chunks' rows."""

import json
from typing import Any

import numpy as np
import pytest

from worker_client.contract.formats import load_format
from worker_client.corpus.chunk import make_rows, write_rows
from worker_client.corpus.mix import mix_chunks
from worker_client.data.errors import DataError
from worker_client.data.shard import open_shard
from worker_client.models.errors import TokenizerRefused
from worker_client.models.load import served_codec
from worker_client.models.seeded_base import tokenizer_json

SEQ = 16
TINY, SCRATCH = load_format("tiny-qwen3-lora-r4"), load_format("scratch-tiny")
BODY = (
    "Twice a day the ferry crosses the bay, and old Martha stands at the pier to watch it come in. "
    "She has never been on board, for a boat is best looked at from the shore, where one can still "
    "change one's mind, and where nobody asks for a ticket or wants to know why."
)
END_OF_TEXT = 256


@pytest.fixture
def tokenizer(tmp_path):
    path = tmp_path / "tokenizer.json"
    path.write_text(tokenizer_json(), "utf-8")
    return path


@pytest.fixture
def codec(tokenizer):
    return served_codec(tokenizer, TINY)


def _raw(tmp_path, *lines: str | bytes):
    path = tmp_path / "raw.jsonl"
    path.write_bytes(
        b"".join((line.encode() if isinstance(line, str) else line) + b"\n" for line in lines)
    )
    return path


def _article(**fields: str) -> str:
    return json.dumps({"body": BODY} | fields)


def test_texts_are_ended_and_cut_into_rows(tmp_path, codec):
    chunk = make_rows(_raw(tmp_path, _article(title="A"), _article(language="en")), codec, SEQ, ())
    one, two = f"A\n\n{BODY}".encode(), BODY.encode()
    stream = [*one, END_OF_TEXT, *two, END_OF_TEXT]
    # A token of this tokenizer is a byte.
    text = codec.decode(chunk.rows.reshape(-1).tolist())
    assert text == codec.decode([]) + _spelled(one, two)[: len(stream) // SEQ * SEQ + 12]
    assert (chunk.lines, chunk.kept, len(chunk.rows)) == (2, 2, len(stream) // SEQ)


def _spelled(one: bytes, two: bytes) -> str:
    return f"{one.decode()}<|endoftext|>{two.decode()}"


def test_what_is_no_good_article_is_left_out(tmp_path, codec):
    lines = ("no json", "[]", '{"body": "short"}', b"\xff\xfe", _article(language="de"), _article())
    chunk = make_rows(_raw(tmp_path, *lines), codec, SEQ, ("en",))
    assert (chunk.lines, chunk.kept) == (6, 1)


def test_a_chunk_of_nothing_good_makes_a_file_of_no_rows(tmp_path, codec):
    chunk = make_rows(_raw(tmp_path, "no json"), codec, SEQ, ())
    written = write_rows(tmp_path / "out", chunk, codec)
    assert written.rows == 0 and chunk.rows.shape == (0, 1, SEQ)
    with pytest.raises(DataError, match="no rows"):  # nobody trains on it
        open_shard(tmp_path / "out", TINY, SEQ, "cpt")


def test_the_same_text_makes_the_same_bytes(tmp_path, codec):
    raw = _raw(tmp_path, *[_article(title=str(number)) for number in range(20)])
    files = [write_rows(tmp_path / name, make_rows(raw, codec, SEQ, ()), codec) for name in "ab"]
    assert files[0].sha256 == files[1].sha256
    told = write_rows(tmp_path / "c", make_rows(raw, codec, SEQ, ()), codec, {"gorev": "x"})
    assert told.sha256 != files[0].sha256
    data = [(tmp_path / name).read_bytes()[-4 * SEQ * told.rows :] for name in "ac"]
    assert data[0] == data[1]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        b"\xff",
        b"[" * 100_000,
        json.dumps({"version": "1.0", "model": {"type": "BPE"}}).encode(),
        tokenizer_json().replace("<|endoftext|>", "<|another|>").encode(),
        tokenizer_json().replace('"vocab": {', '"vocab": {"far": 70000000, ').encode(),
        tokenizer_json().replace('"merges": []', '"merges": [["a", "nowhere"]]').encode(),
        tokenizer_json()
        .replace('"normalizer": null', '"normalizer": {"type": "Replace"}')
        .encode(),
    ],
    ids=range(9),
)
def test_a_hostile_tokenizer_is_a_sentence(tokenizer, content):
    tokenizer.write_bytes(content)
    with pytest.raises(TokenizerRefused, match="token"):
        served_codec(tokenizer, TINY)


@pytest.mark.parametrize(
    "changes",
    [
        {"normalizer": {"type": "Prepend", "prepend": "x" * 50_000}},
        {"pre_tokenizer": {"type": "Split", "pattern": {"String": ""}, "behavior": "Isolated"}},
    ],
    ids=["expands", "splits"],
)
def test_a_tokenizer_that_fails_at_a_text_is_a_sentence(tmp_path, tokenizer, changes):
    tokenizer.write_text(json.dumps(json.loads(tokenizer_json()) | changes), "utf-8")
    with pytest.raises(TokenizerRefused, match="token"):
        make_rows(_raw(tmp_path, _article()), served_codec(tokenizer, TINY), SEQ, ())


@pytest.mark.parametrize("length", [0, 2, 10**12])
def test_a_tokenizer_neither_cuts_nor_fills_up(tmp_path, tokenizer, codec, length):
    """The library panics at such a stride, and ends the process for want of such a memory."""
    cut = {"direction": "Right", "max_length": length, "strategy": "LongestFirst", "stride": 5}
    fill: dict[str, Any] = {
        "strategy": {"Fixed": length},
        "direction": "Right",
        "pad_to_multiple_of": None,
    }
    marks: dict[str, Any] = {"pad_id": 0, "pad_type_id": 0, "pad_token": "x"}
    whole = json.loads(tokenizer_json()) | {"truncation": cut, "padding": fill | marks}
    raw = _raw(tmp_path, _article())
    plain = make_rows(raw, codec, SEQ, ()).rows
    tokenizer.write_text(json.dumps(whole), "utf-8")
    assert (make_rows(raw, served_codec(tokenizer, TINY), SEQ, ()).rows == plain).all()


def _rows_files(tmp_path, *counts: int):
    """Each row is its number again and again."""
    files, first = [], 0
    for number, count in enumerate(counts):
        path = tmp_path / f"{number}.i4"
        np.repeat(np.arange(first, first + count, dtype="<i4"), SEQ).tofile(path)
        files.append(path)
        first += count
    return files


def test_shards_are_equal_and_hold_every_chunk_evenly(tmp_path, codec):
    files = _rows_files(tmp_path, 12, 0, 6, 3)
    out = tmp_path / "out"
    out.mkdir()
    listed = mix_chunks(files, codec, SEQ, 2, out)
    assert [shard.rows for shard in listed] == [10, 10]
    firsts = [
        np.fromfile(out / shard.file, "<i4")[-10 * SEQ :].reshape(-1, SEQ)[:, 0] for shard in listed
    ]
    found = np.stack(firsts, axis=1).reshape(-1)  # in the order of the whole
    for low, high in ((0, 12), (12, 18), (18, 21)):
        part = found[(found >= low) & (found < high)]
        assert list(part) == sorted(part)
    assert len(set(found)) == 20
    for low, high in ((0, 12), (12, 18), (18, 21)):
        assert all(((shard >= low) & (shard < high)).any() for shard in firsts)


def test_too_few_rows_are_a_sentence(tmp_path, codec):
    out = tmp_path / "out"
    out.mkdir()
    with pytest.raises(DataError, match="2 rows, too few for 3 shards"):
        mix_chunks(_rows_files(tmp_path, 1, 1), codec, SEQ, 3, out)
