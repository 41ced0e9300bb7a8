"""Verb: score held-out text language by language."""

from collections.abc import Mapping
from dataclasses import dataclass

from worker_client.evaluation.evaluate import Evaluator, Score
from worker_client.models.progress import Progress, silent


@dataclass(frozen=True)
class LanguageScores:
    languages: dict[str, Score]

    @property
    def all(self) -> Score:
        """Of every token of every language."""
        found = self.languages.values()
        tokens = sum(score.tokens for score in found)
        nats = sum(score.loss * score.tokens for score in found)
        return Score(nats / tokens, tokens, sum(score.bytes for score in found))

    def to_json(self) -> dict:
        """The score of all, and each language's."""
        each = {name: score.to_json() for name, score in self.languages.items()}
        return self.all.to_json() | {"languages": each}


def score_languages(
    evaluator: Evaluator, texts: Mapping[str, list[str]], progress: Progress = silent
) -> LanguageScores:
    """``texts``: documents by language.

    Raises:
        DataError: a language has no document of two tokens.
    """
    scores = {}
    for number, (language, documents) in enumerate(sorted(texts.items())):
        scores[language] = evaluator.score_texts(documents, progress=progress)
        progress("languages", number + 1, len(texts), "step")
    return LanguageScores(scores)
