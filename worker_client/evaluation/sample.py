"""Verb: let a model go on with a text, or answer a question."""

from collections.abc import Iterable

from worker_client.data.documents import Pair
from worker_client.data.pack import encode_prompt
from worker_client.evaluation.evaluate import Evaluator
from worker_client.evaluation.generate import continue_prompts
from worker_client.models.progress import Progress, silent


def sample(
    evaluator: Evaluator,
    texts: Iterable[str],
    *,
    mode: str,
    tokens: int,
    progress: Progress = silent,
) -> list[str]:
    """What the model writes behind each of ``texts``, at most ``tokens`` long: the likeliest, so
    that snapshots compare.

    A text begins a document, or with ``mode`` sft is an instruction.
    """
    codec, found = evaluator.codec, []
    prompts = [
        encode_prompt(Pair(text, ""), codec, 0)
        if mode == "sft"
        else [codec.end_of_text, *codec.encode(text)]
        for text in texts
    ]
    for number, prompt in enumerate(prompts, 1):
        found += continue_prompts(evaluator.trainee, codec, [prompt], len(prompt) + tokens)
        progress("sample", number, len(prompts), "text")
    return found
