"""Summaries: what they are compared by, and a model that has learnt to write one."""

import json

import numpy as np
import pytest

from worker_client.cli.main import main
from worker_client.contract.formats import load_scratch_format
from worker_client.data.article import Article
from worker_client.data.documents import read_summarised
from worker_client.data.errors import DataError
from worker_client.data.make import make_shards
from worker_client.evaluation.rouge import interval, rouge
from worker_client.evaluation.summaries import lead_sentences
from worker_client.models.digests import sha256_file
from worker_client.models.seeded_base import tokenizer_json
from worker_client.models.store import ModelStore
from worker_client.training.device import choose_device
from worker_client.training.initial import write_initial
from worker_client.training.messages import Train
from worker_client.training.task import train_task
from worker_client.training.whole import WholeModel

FMT = load_scratch_format("scratch-tiny")
SUMMARY = "Kedi ağladı."


def article(summary: str, language: str = "tr", body: str = "") -> Article:
    return Article("", summary, "", body, language)


@pytest.mark.parametrize(
    ("reference", "summary", "language", "expected"),
    [
        ("Işık İstanbul'da", "ışık istanbul'da", "tr", 1.0),
        ("Işık", "işık", "tr", 0.0),
        ("Çağrı şöyle", "Cagri soyle", "tr", 0.0),
        ("IT Iris", "it iris", "en", 1.0),
        ("東京は夜", "東京は朝", "ja", 0.75),
        ("Ein Haus", "", "de", 0.0),
    ],
)
def test_words_are_those_of_the_language(reference, summary, language, expected):
    (found,) = rouge([article(reference, language)], [summary])["rouge1"]
    assert found == pytest.approx(expected)


def test_rouge_by_hand():
    """Of five words in the reference four are there, in order three; of four pairs one is."""
    found = rouge([article("a b c d e", "en")], ["a b d c x y"])
    precision, recall = 4 / 6, 4 / 5
    assert found["rouge1"][0] == pytest.approx(2 * precision * recall / (precision + recall))
    assert found["rouge2"][0] == pytest.approx(2 * (1 / 5) * (1 / 4) / (1 / 5 + 1 / 4))
    assert found["rougeL"][0] == pytest.approx(2 * (3 / 6) * (3 / 5) / (3 / 6 + 3 / 5))


def test_the_interval_holds_the_mean_as_often_as_it_says():
    draw = np.random.default_rng(3)
    found = [interval(draw.normal(0.4, 0.1, 40)) for _ in range(200)]
    inside = sum(each.low <= 0.4 <= each.high for each in found)
    assert 176 <= inside <= 199
    assert interval(np.array([0.25, 0.25])) == interval(np.array([0.25]))


@pytest.mark.parametrize(
    ("body", "lead"),
    [
        ("Bir. İki! Üç? Dört.", "Bir. İki! Üç?"),
        (
            "Erste\nZweite, z. B. so.\n\nUnd a. m. hier.\nVierte.",
            "Erste Zweite, z. B. so. Und a. m. hier.",
        ),
        ("一。二。三。四。", "一。 二。 三。"),
        ("Only one", "Only one"),
    ],
)
def test_the_lead_is_three_sentences(body, lead):
    assert lead_sentences(body) == lead


@pytest.fixture(scope="module")
def articles(tmp_path_factory):
    path = tmp_path_factory.mktemp("articles") / "a.jsonl"
    bodies = ["Masal. Bir gün. Yağmur. " * n for n in (1, 2, 9, 30)]
    lines = [article(SUMMARY, body=body).to_line() for body in bodies]
    path.write_bytes(b"".join([*lines, article("", body="No summary.").to_line()]))
    return path


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    path.write_text(tokenizer_json(), "utf-8")
    return path


@pytest.fixture(scope="module")
def learnt(articles, tokenizer, tmp_path_factory):
    """A snapshot that was trained to answer every article with the one summary."""
    folder = tmp_path_factory.mktemp("learnt")
    make_shards(
        FMT, ModelStore(folder), [articles], folder,
        mode="sft", seq_len=128, shards=1, tokenizer=tokenizer,
    )  # fmt: skip
    write_initial(FMT, 3, folder / "snapshot-1.safetensors")
    command = Train(
        lease_id="a", round=1, rounds=1, inner_steps=60, batch_size=4, seq_len=128, lr=1e-2,
        seed=0, shard=0, mode="sft", tokenizer_sha256=sha256_file(tokenizer),
        snapshot=str(folder / "snapshot-1.safetensors"),
        data=str(folder / "shard-00000.safetensors"), out=str(folder / "learnt.safetensors"),
    )  # fmt: skip
    train_task(WholeModel(FMT, choose_device("cpu", "float32", 1)), command, lambda step: None)
    return folder / "learnt.safetensors"


def evaluate(snapshot, articles, tokenizer, *more: str) -> int:
    return main(
        ["evaluate", FMT.id, "--snapshot", str(snapshot), "--tokenizer", str(tokenizer),
         "--summaries", str(articles), "--seq", "128", "--device", "cpu", "--threads", "1", *more]
    )  # fmt: skip


def test_what_was_learnt_is_written_and_scored(learnt, articles, tokenizer, capsys):
    assert evaluate(learnt, articles, tokenizer, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["articles"] == 4
    assert found["words"] == found["reference_words"] == 2
    assert found["model"]["rougeL"] == {"mean": 1.0, "low": 1.0, "high": 1.0}
    assert found["lead_3"]["rouge1"]["mean"] == 0
    assert found["difference"]["rouge2"]["mean"] == 1.0


def test_before_training_it_is_not(learnt, articles, tokenizer, capsys):
    assert evaluate(learnt.parent / "snapshot-1.safetensors", articles, tokenizer) == 0
    said = capsys.readouterr().out
    assert "first three sentences" in said and "4 articles" in said
    (line,) = [line for line in said.splitlines() if line.startswith("rouge2")]
    assert line.split()[1] == "0.000"


def test_an_instruction_is_answered(learnt, tokenizer, tmp_path, capsys):
    """As in training, but for the article, which this model never looks at."""
    prompts = tmp_path / "a.jsonl"
    prompts.write_text(json.dumps({"text": "Summarise this text:\n\nMasal."}))
    sample = ["sample", FMT.id, "--snapshot", str(learnt), "--tokenizer", str(tokenizer),
              "--device", "cpu", "--threads", "1", "--prompts", str(prompts)]  # fmt: skip
    assert main([*sample, "--mode", "sft", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"texts": [SUMMARY]}
    assert main([*sample, "--tokens", "5"]) == 0
    (prompt, written) = capsys.readouterr().out.removesuffix("\n").split("|", 1)
    assert prompt == "Summarise this text:\n\nMasal." and len(written) <= 5
    assert main([*sample[:-1], str(tmp_path / "none.jsonl")]) != 0
    assert "none.jsonl" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "why"),
    [(b"[1]\n", "line 1, is not a JSON object"), (b'{"summary": "a"}\n', "line 1, is no article"),
     (b'{"body": "a"}\n', "has a summary")],
)  # fmt: skip
def test_what_holds_no_summaries_is_told(tmp_path, line, why):
    (tmp_path / "a.jsonl").write_bytes(line)
    with pytest.raises(DataError, match=why):
        list(read_summarised(tmp_path / "a.jsonl"))


def test_no_such_file_is_told(learnt, tmp_path, tokenizer, capsys):
    assert evaluate(learnt, tmp_path / "none.jsonl", tokenizer) != 0
    assert "none.jsonl" in capsys.readouterr().err
