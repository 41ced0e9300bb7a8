"""Continuing prompts, by an adapter on its base and by a whole model."""

import re
from itertools import islice

import numpy as np
import pytest
import torch

from tests.worker_client.materials import TINY
from worker_client.evaluation.evaluate import Evaluator
from worker_client.evaluation.generate import continue_prompts
from worker_client.models.store import ModelStore
from worker_client.training.files import write_weights

PROMPTS = [[65, 66, 67], [70] * 5, [65, 66, 68], [71, 72]]


@pytest.fixture(scope="module")
def evaluator(tiny_models):
    return Evaluator(TINY, ModelStore(tiny_models), device="cpu", threads=1)


@pytest.fixture(scope="module")
def adapter(tmp_path_factory):
    draw = np.random.default_rng(0)
    tensors = {s.name: draw.normal(0, 0.3, s.shape).astype("<f4") for s in TINY.tensors}
    path = tmp_path_factory.mktemp("adapter") / "a.safetensors"
    return write_weights(path, TINY, tensors, {"format": "pt"}).path


def one_by_one(evaluator, prompt: list[int], count: int) -> list[int]:
    """The likeliest next token, all computed anew for each."""
    ids = list(prompt)
    for _ in range(count):
        trainee = evaluator.trainee
        with torch.inference_mode():
            logits = trainee.hidden(torch.tensor([ids]))[0, -1] @ trainee.head.T
        ids.append(int(logits.argmax()))
    return ids[len(prompt) :]


@pytest.mark.parametrize("with_adapter", [False, True])
def test_kept_keys_and_values_give_what_computing_anew_gives(evaluator, adapter, with_adapter):
    evaluator.use(adapter if with_adapter else None)
    prompt = torch.tensor(PROMPTS[::2])
    made = [tokens.tolist() for tokens in islice(evaluator.trainee.generate(prompt), 12)]
    expected = [one_by_one(evaluator, ids, 12) for ids in PROMPTS[::2]]
    assert [list(row) for row in zip(*made, strict=True)] == expected


def test_an_adapter_changes_what_is_written(evaluator, adapter):
    evaluator.use(None)
    plain = continue_prompts(evaluator.trainee, evaluator.codec, PROMPTS, 20)
    evaluator.use(adapter)
    assert continue_prompts(evaluator.trainee, evaluator.codec, PROMPTS, 20) != plain


def test_answers_come_in_the_order_of_the_prompts_and_keep_to_the_length(evaluator, adapter):
    evaluator.use(adapter)
    told = []
    found = continue_prompts(
        evaluator.trainee, evaluator.codec, PROMPTS, 12, lambda *news: told.append(news)
    )
    for prompt, answer in zip(PROMPTS, found, strict=True):
        ids = one_by_one(evaluator, prompt, 12 - len(prompt))
        whole = evaluator.codec.decode(ids)
        assert answer == re.split(r"<\|im_end\|>|<\|endoftext\|>", whole)[0]
    assert told == [("generate", n, 4, "text") for n in (1, 3, 4)]


def test_a_model_does_not_write_past_its_context(evaluator):
    evaluator.use(None)
    context = TINY.base_model.config["max_position_embeddings"]
    prompt = torch.zeros(1, context - 3, dtype=torch.int64)
    assert len(list(evaluator.trainee.generate(prompt))) == 3
