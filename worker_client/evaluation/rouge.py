"""ROUGE of summaries, with confidence (library ``rouge-score``).

Chin-Yew Lin, ROUGE: a package for automatic evaluation of summaries, 2004.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from worker_client.corpus.fingerprint import words
from worker_client.data.article import Article
from worker_client.evaluation.errors import LibraryMissing

if TYPE_CHECKING:
    from rouge_score.rouge_scorer import RougeScorer

KINDS = ("rouge1", "rouge2", "rougeL")
RESAMPLES, CONFIDENCE, SEED = 1000, 0.95, 0
# Where the dotted and the dotless i are two letters.
TWO_LETTERS_I = ("tr", "tur", "az", "aze")


@dataclass(frozen=True)
class Interval:
    """A mean over articles and its bootstrap confidence interval of 95 %."""

    mean: float
    low: float
    high: float


class Words:
    """The words of a text as ``rouge-score`` asks for them; its own way of finding them knows the
    letters a to z only."""

    def __init__(self, language: str) -> None:
        self._two_letters_i = language in TWO_LETTERS_I

    def tokenize(self, text: str) -> list[str]:
        text = unicodedata.normalize("NFC", text)
        if self._two_letters_i:
            text = text.replace("İ", "i").replace("I", "ı")
        return words(text)


def rouge(articles: Sequence[Article], summaries: Sequence[str]) -> dict[str, np.ndarray]:
    """F-measures of each summary against its article's own: kind -> float64 ``[articles]``.

    Raises:
        LibraryMissing: ``rouge-score`` is not installed.
    """
    scorers = {article.language: _scorer(article.language) for article in articles}
    found = [
        scorers[article.language].score(article.summary, summary)
        for article, summary in zip(articles, summaries, strict=True)
    ]
    return {kind: np.array([score[kind].fmeasure for score in found]) for kind in KINDS}


def _scorer(language: str) -> "RougeScorer":
    try:
        from rouge_score.rouge_scorer import RougeScorer
    except ImportError as error:
        raise LibraryMissing(
            f"summaries are scored with rouge-score, which is missing ({error.name}): "
            "pip install rouge-score"
        ) from None
    return RougeScorer(KINDS, tokenizer=Words(language))


def interval(values: np.ndarray) -> Interval:
    """The mean of ``values [n]`` and its percentile bootstrap interval (B. Efron, Bootstrap
    methods: another look at the jackknife, 1979)."""
    draw = np.random.default_rng(SEED).integers(len(values), size=(RESAMPLES, len(values)))
    tail = 100 * (1 - CONFIDENCE) / 2
    low, high = np.percentile(values[draw].mean(axis=1), (tail, 100 - tail))
    return Interval(*(round(float(value), 6) for value in (values.mean(), low, high)))


def intervals(scores: dict[str, np.ndarray]) -> dict[str, dict]:
    return {kind: asdict(interval(values)) for kind, values in scores.items()}
