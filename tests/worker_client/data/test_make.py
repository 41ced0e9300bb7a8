"""Making shards: every token accounted for, equal files, the tokenizer's digest in each."""

import hashlib
import json

import numpy as np
import pytest
from safetensors import safe_open

from tests.worker_client.materials import TINY
from worker_client.data.errors import DataError
from worker_client.data.make import make_shards
from worker_client.data.shard import open_shard
from worker_client.models.store import ModelStore

END, IM_START, IM_END = 256, 257, 258


@pytest.fixture
def make(tiny_models, tmp_path):
    def run(*inputs, mode="cpt", seq_len=16, shards=2):
        return make_shards(
            TINY, ModelStore(tiny_models), inputs, tmp_path / "out",
            mode=mode, seq_len=seq_len, shards=shards,
        )  # fmt: skip

    return run


def rows_of(tmp_path, report, mode="cpt", seq_len=16):
    return [open_shard(tmp_path / "out" / s.file, TINY, seq_len, mode) for s in report.shards]


def bytes_of(ids) -> bytes:
    """The text of byte-level ids of the tiny tokenizer, whose ids are bytes."""
    return bytes(int(i) for i in ids if i < 256)


def test_cpt_packs_documents_with_their_end_between(make, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("Ağaçlar çiçek açtı. " * 3, "utf-8")
    rows = [{"text": f"satır {n} <|endoftext|>"} for n in range(9)]
    lines = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    (tmp_path / "in" / "b.jsonl").write_text(lines, "utf-8")
    report = make(tmp_path / "in")
    first, second = rows_of(tmp_path, report)
    stream = np.stack([first.input_ids, second.input_ids], 1).reshape(-1)  # row j: shard j mod 2
    expected = []
    for text in ["Ağaçlar çiçek açtı. " * 3, *(row["text"] for row in rows)]:
        expected += [*text.encode(), END]
    assert stream.tolist() == expected[: len(stream)]
    assert first.rows == second.rows == report.rows // 2
    assert report.counts.documents == 10
    left = report.counts.dropped_tokens + 16 * report.dropped_rows
    assert (
        len(stream) + left == len(expected) == report.counts.tokens + report.counts.dropped_tokens
    )


def test_articles_are_texts_with_their_titles(make, tmp_path):
    rows = [{"title": "A title", "body": "And a body.", "language": "en"}] * 4
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    report = make(tmp_path / "a.jsonl", shards=1)
    (shard,) = rows_of(tmp_path, report)
    assert bytes_of(shard.input_ids.reshape(-1)).startswith(b"A title\n\nAnd a body.A title")


def test_the_report_lists_every_file_with_its_digest(make, tmp_path):
    (tmp_path / "a.txt").write_text("x" * 1000)
    report = make(tmp_path / "a.txt", shards=3)
    listed = json.loads((tmp_path / "out" / "shards.json").read_text())
    assert [row["file"] for row in listed] == [f"shard-0000{n}.safetensors" for n in range(3)]
    for row in listed:
        path = tmp_path / "out" / row["file"]
        assert row["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
        assert row["size"] == path.stat().st_size
        assert row["rows"] == report.rows // 3 == 20
        with safe_open(path, "numpy") as file:
            assert file.metadata()["belirtec_sha256"] == TINY.base_model.tokenizer_sha256
    assert {p.name for p in (tmp_path / "out").iterdir()} == {"shards.json"} | {
        row["file"] for row in listed
    }


@pytest.mark.parametrize("mode", ["cpt", "sft"])
def test_a_shard_says_how_much_it_has_to_predict(make, tmp_path, mode):
    (tmp_path / "pairs.jsonl").write_text('{"prompt": "a", "response": "Güneş"}\n', "utf-8")
    (tmp_path / "text.txt").write_text("Güneş doğdu. " * 10, "utf-8")
    name = "text.txt" if mode == "cpt" else "pairs.jsonl"
    report = make(tmp_path / name, mode=mode, seq_len=64, shards=1)
    path = tmp_path / "out" / report.shards[0].file
    with safe_open(path, "np") as file:
        told = file.metadata()
        labels = file.get_tensor("labels" if mode == "sft" else "input_ids")[:, 1:]
    targets = labels[labels != -100]
    assert told["token"] == str(targets.size)
    # A token of this tokenizer is a byte, a special one none.
    assert told["bayt"] == str((targets < END).sum())
    assert open_shard(path, TINY, 64, mode).target_bytes == int(told["bayt"]) > 0


def test_the_same_text_makes_the_same_bytes(make, tmp_path):
    (tmp_path / "a.txt").write_text("Aynı metin. " * 50, "utf-8")
    assert make(tmp_path / "a.txt").shards == make(tmp_path / "a.txt").shards


def test_sft_learns_the_answer_and_pads_to_the_right(make, tmp_path):
    pairs = [
        {"prompt": "Ne?", "response": "Bu."},
        {"instruction": "Çevir:", "input": "cat", "output": "kedi"},
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, pairs)))
    report = make(tmp_path / "a.jsonl", mode="sft", seq_len=64, shards=1)
    (shard,) = rows_of(tmp_path, report, "sft", 64)
    ids, labels = shard.input_ids, shard.labels
    assert ids[0, 0] == IM_START
    assert bytes_of(ids[0]) == b"user\nNe?\nassistant\nBu.\n"
    learned = labels[0][labels[0] != -100]
    assert learned.tolist() == [*b"Bu.", IM_END, *b"\n"]
    assert "Çevir:\n\ncat" in bytes_of(ids[1]).decode()
    end = np.flatnonzero(labels[0] != -100)[-1]
    assert set(ids[0, end + 1 :].tolist()) == {END}
    assert np.array_equal(ids[0][labels[0] != -100], learned)


def test_sft_cuts_long_answers_and_skips_long_questions(make, tmp_path):
    pairs = [{"prompt": "a", "response": "b" * 99}, {"prompt": "c" * 99, "response": "d"}]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, pairs)))
    report = make(tmp_path / "a.jsonl", mode="sft", seq_len=64, shards=1)
    assert (report.rows, report.counts.truncated, report.counts.skipped) == (1, 1, 1)


def test_an_article_is_summarised_and_cut_to_leave_a_quarter_for_its_summary(make, tmp_path):
    rows = [
        {"body": "Uzun bir masal. " * 20, "summary": "Masal."},
        {"body": "Kısa.", "summary": "b" * 99},
        {"body": "None to learn.", "summary": ""},
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    report = make(tmp_path / "a.jsonl", mode="sft", seq_len=128, shards=1)
    (shard,) = rows_of(tmp_path, report, "sft", 128)
    assert (report.rows, report.counts.truncated, report.counts.skipped) == (2, 1, 1)
    first, second = shard.labels
    assert first[first != -100].tolist() == [*b"Masal.", IM_END, *b"\n"]
    assert np.flatnonzero(first != -100)[0] == 96
    said = bytes_of(shard.input_ids[0]).decode()
    assert said.startswith("user\nSummarise this text:\n\nUzun bir masal. Uz")
    assert said.endswith("\nassistant\nMasal.\n")
    # A short article leaves more than a quarter, and what does not fit has no end to be learnt.
    assert set(second[second != -100].tolist()) == {ord("b")}
    assert (second != -100).sum() == 128 - len(b"user\nSummarise this text:\n\n") - len(
        "Kısa.".encode() + b"\nassistant\n"
    ) - 3


def test_special_tokens_spelled_in_an_answer_stay_text(make, tmp_path):
    pair = {"prompt": "a", "response": "<|im_end|>"}
    (tmp_path / "a.jsonl").write_text(json.dumps(pair))
    report = make(tmp_path / "a.jsonl", mode="sft", seq_len=64, shards=1)
    (shard,) = rows_of(tmp_path, report, "sft", 64)
    assert (shard.input_ids[0] == IM_END).sum() == 2  # the two that end the turns
    assert b"<|im_end|>" in bytes_of(shard.input_ids[0])


@pytest.mark.parametrize(
    ("name", "body", "mode", "why"),
    [
        ("a.txt", b"short", "cpt", "too few for 2 shards"),
        ("a.txt", b"\xff\xfe\x00", "cpt", "not UTF-8"),
        ("a.pdf", b"%PDF", "cpt", "no .txt or .jsonl"),
        ("a.jsonl", b'{"text": "a"}\n[1]\n', "cpt", "line 2, is not a JSON object"),
        ("a.jsonl", b'{"text": 5}\n', "cpt", 'no field "text"'),
        ("a.jsonl", b"{\n", "cpt", "not JSON"),
        ("a.jsonl", b'{"prompt": "a"}\n', "sft", "nor body and summary"),
        ("a.txt", b"text", "sft", "no .jsonl file"),
    ],
)
def test_what_cannot_be_used_says_why(make, tmp_path, name, body, mode, why):
    (tmp_path / name).write_bytes(body)
    with pytest.raises(DataError, match=why):
        make(tmp_path / name, mode=mode)


def test_an_empty_folder_says_so(make, tmp_path):
    (tmp_path / "in").mkdir()
    with pytest.raises(DataError, match="has no .txt or .jsonl"):
        make(tmp_path / "in")
