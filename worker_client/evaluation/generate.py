"""Verb: continue prompts by the likeliest token each, until the model ends its turn."""

import re
from collections.abc import Iterator
from itertools import groupby

import torch

from worker_client.contract.formats import END_OF_TEXT
from worker_client.data.pack import END_OF_TURN
from worker_client.models.load import TextCodec
from worker_client.models.progress import Progress, silent
from worker_client.training.trainee import Trainee

ROWS_AT_ONCE = 8
# A tokenizer that has no token for an end spells it.
TAIL_TOKENS = 16
_END = re.compile("|".join(map(re.escape, (END_OF_TURN.strip(), END_OF_TEXT))))


def continue_prompts(
    trainee: Trainee,
    codec: TextCodec,
    prompts: list[list[int]],
    length: int,
    progress: Progress = silent,
) -> list[str]:
    """What follows ``prompts``, in their order, without their ends.

    Prompt and answer together have at most ``length`` tokens. Prompts of equal length are
    continued together, so that none needs padding.
    """
    answers, done = [""] * len(prompts), 0
    for numbers in _batches(prompts):
        prompt = torch.tensor([prompts[number] for number in numbers], device=trainee.device.place)
        for number, text in zip(numbers, _answers(trainee, codec, prompt, length), strict=True):
            answers[number] = text
        done += len(numbers)
        progress("generate", done, len(prompts), "text")
    return answers


def _batches(prompts: list[list[int]]) -> Iterator[list[int]]:
    ordered = sorted(range(len(prompts)), key=lambda number: len(prompts[number]))
    for _, same in groupby(ordered, key=lambda number: len(prompts[number])):
        numbers = list(same)
        for start in range(0, len(numbers), ROWS_AT_ONCE):
            yield numbers[start : start + ROWS_AT_ONCE]


def _answers(trainee: Trainee, codec: TextCodec, prompt: torch.Tensor, length: int) -> list[str]:
    rows: list[list[int]] = [[] for _ in prompt]
    ended = [False] * len(rows)
    for number, tokens in enumerate(trainee.generate(prompt), prompt.shape[1] + 1):
        for row, token in enumerate(tokens.tolist()):
            rows[row].append(token)
            ended[row] = ended[row] or _has_end(codec, rows[row])
        if all(ended) or number >= length:
            break
    return [_END.split(codec.decode(row), maxsplit=1)[0] for row in rows]


def _has_end(codec: TextCodec, row: list[int]) -> bool:
    return bool(_END.search(codec.decode(row[-TAIL_TOKENS:])))
