"""Held-out scores against the model's own loss over whole documents."""

import json
from math import exp, log

import numpy as np
import pytest
import torch

from tests.worker_client.materials import TINY, pattern_rows, write_shard
from worker_client.cli.main import main
from worker_client.data.errors import DataError
from worker_client.evaluation.evaluate import Evaluator
from worker_client.evaluation.windows import batches, windows
from worker_client.models.load import load_base
from worker_client.models.store import ModelStore
from worker_client.training.errors import SnapshotRefused
from worker_client.training.files import write_weights

TEXTS = ["Güneş doğdu, kuşlar öttü.", "a", "Kısa.", "x" * 70]


@pytest.fixture(scope="module")
def evaluator(tiny_models):
    return Evaluator(TINY, ModelStore(tiny_models), device="cpu", threads=1)


@pytest.fixture
def adapter(tmp_path):
    draw = np.random.default_rng(0)
    tensors = {s.name: draw.normal(0, 0.3, s.shape).astype("<f4") for s in TINY.tensors}
    return write_weights(tmp_path / "a.safetensors", TINY, tensors, {"format": "pt"}).path


def test_windows_predict_every_token_after_the_first_once():
    for length in (1, 2, 8, 9, 15, 16, 40):
        ids = list(range(length))
        predicted = [token for piece in windows(ids, 8) for token in piece[1:]]
        assert predicted == ids[1:]
        assert all(2 <= len(piece) <= 8 for piece in windows(ids, 8))


def test_batches_hold_every_piece_within_their_size():
    pieces = [list(range(n)) for n in (3, 9, 2, 5, 9)]
    made = list(batches(pieces, 18))
    assert sum(int((labels != -100).sum()) for _, labels in made) == 28
    assert all(ids.numel() <= 18 for ids, _ in made)


def test_scores_equal_the_models_own_loss(evaluator, tiny_models):
    evaluator.use(None)
    score = evaluator.score_texts(TEXTS)
    model, nats = load_base(TINY, ModelStore(tiny_models), torch.float32), 0.0
    for text in TEXTS:
        ids = torch.tensor([list(text.encode())])
        if ids.shape[1] > 1:
            nats += model(input_ids=ids, labels=ids).loss.item() * (ids.shape[1] - 1)
    size = sum(len(text.encode()) - 1 for text in TEXTS)  # a token of this tokenizer is a byte
    assert (score.tokens, score.bytes) == (size, size)
    assert score.loss == pytest.approx(nats / size, rel=1e-5)
    assert score.bits_per_byte == pytest.approx(nats / log(2) / size, rel=1e-5)
    assert score.to_json()["perplexity"] == pytest.approx(exp(nats / size), rel=1e-5)


def test_an_adapter_changes_the_score_and_can_be_taken_off(evaluator, adapter):
    evaluator.use(None)
    before = evaluator.score_texts(TEXTS)
    evaluator.use(adapter)
    changed = evaluator.score_texts(TEXTS)
    evaluator.use(adapter)
    assert evaluator.score_texts(TEXTS).loss == pytest.approx(changed.loss, rel=1e-6)
    evaluator.use(None)
    assert abs(changed.loss - before.loss) > 1e-3
    assert evaluator.score_texts(TEXTS).loss == pytest.approx(before.loss, rel=1e-6)


def test_shards_are_scored_as_training_sees_them(evaluator, tmp_path):
    evaluator.use(None)
    ids = pattern_rows(5, 16)
    labels = ids.copy()
    labels[:, :10] = -100
    path = write_shard(tmp_path / "shard.safetensors", ids, labels)
    whole = evaluator.score_shards([path], seq_len=16)
    answers = evaluator.score_shards([path], seq_len=16, mode="sft")
    assert (whole.tokens, answers.tokens) == (5 * 15, 5 * 6)
    assert whole.loss != answers.loss


def test_special_tokens_are_no_bytes(evaluator, tmp_path):
    evaluator.use(None)
    ids = pattern_rows(1, 16)
    ids[0, 4:8] = 256
    path = write_shard(tmp_path / "shard.safetensors", ids)
    score = evaluator.score_shards([path], seq_len=16)
    assert (score.tokens, score.bytes) == (15, 11)


def test_nothing_to_score_says_so(evaluator):
    with pytest.raises(DataError, match="nothing to score"):
        evaluator.score_texts(["", "a"])


def test_a_file_that_is_no_adapter_is_refused(evaluator, tmp_path):
    (tmp_path / "a.safetensors").write_bytes(b"<html>")
    with pytest.raises(SnapshotRefused):
        evaluator.use(tmp_path / "a.safetensors")


def test_articles_are_scored_by_language(tiny_models, tmp_path, capsys):
    rows = [
        ("tr", "Güneş doğdu."),
        ("en", "The sun rose."),
        ("tr-TR", "Kuşlar öttü."),
        (None, "xy"),
    ]
    lines = [json.dumps({"body": body} | ({"language": tag} if tag else {})) for tag, body in rows]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    (tmp_path / "b.md").write_text("Plain text.")
    arguments = ["evaluate", TINY.id, "--models-dir", str(tiny_models), "--device", "cpu"]
    arguments += ["--threads", "1", "--text", str(tmp_path / "a.jsonl"), str(tmp_path / "b.md")]
    assert main([*arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    sizes = {name: score["bytes"] for name, score in found["languages"].items()}
    turkish = [body for tag, body in rows if tag and tag.startswith("tr")]
    assert sizes == {
        "en": len("The sun rose.") - 1,
        "tr": sum(len(body.encode()) - 1 for body in turkish),
        "und": 1 + len("Plain text.") - 1,
    }
    nats = sum(score["loss"] * score["tokens"] for score in found["languages"].values())
    assert found["tokens"] == sum(sizes.values())  # a token of this tokenizer is a byte
    assert found["loss"] == pytest.approx(nats / found["tokens"])
    assert main(arguments) == 0
    said = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in said[1:4]] == ["en", "tr", "und"]
    assert said[2].split()[2] == f"{found['languages']['tr']['perplexity']:.2f}"
    assert said[4].startswith(f"{found['bits_per_byte']:.4f} bits per byte")
