"""Verb: summarise held-out articles and compare with their own summaries."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from worker_client.data.article import Article
from worker_client.data.documents import summary_pair
from worker_client.data.pack import encode_prompt
from worker_client.evaluation.evaluate import Evaluator
from worker_client.evaluation.generate import continue_prompts
from worker_client.evaluation.rouge import intervals, rouge
from worker_client.models.progress import Progress, silent

LEAD_SENTENCES = 3
# Behind a mark that ends a sentence, and the quotes or brackets that it closes; "z. B." ends none.
_SENTENCE_END = re.compile(r"(?<=[.!?…])(?<!\b\w\.)[\"'”’»)\]]*\s+|(?<=[。！？])|\n+")


@dataclass(frozen=True)
class SummaryScore:
    """F-measures by kind of ROUGE, float64 ``[articles]`` each, of the model's summaries and of
    the articles' first three sentences; ``written`` are the model's."""

    articles: Sequence[Article]
    written: list[str]
    model: dict[str, np.ndarray]
    lead: dict[str, np.ndarray]

    def to_json(self) -> dict:
        """Means with confidence; ``difference`` is model minus lead, article by article."""
        difference = {kind: self.model[kind] - self.lead[kind] for kind in self.model}
        return {
            "articles": len(self.articles),
            "words": _words(self.written),
            "reference_words": _words([article.summary for article in self.articles]),
            "model": intervals(self.model),
            "lead_3": intervals(self.lead),
            "difference": intervals(difference),
        }


def score_summaries(
    evaluator: Evaluator,
    articles: Sequence[Article],
    *,
    seq_len: int,
    progress: Progress = silent,
) -> SummaryScore:
    """Have the model summarise each article, as training for rows of ``seq_len`` asks it to.

    Raises:
        LibraryMissing: ROUGE cannot be computed here.
    """
    lead = rouge(articles, [lead_sentences(article.body) for article in articles])
    pairs = [summary_pair(article.body) for article in articles]
    prompts = [encode_prompt(pair, evaluator.codec, seq_len) for pair in pairs]
    answers = continue_prompts(evaluator.trainee, evaluator.codec, prompts, seq_len, progress)
    written = [answer.strip() for answer in answers]
    return SummaryScore(articles, written, rouge(articles, written), lead)


def lead_sentences(body: str) -> str:
    """The first three sentences of a text: what a summary has to beat."""
    found: list[str] = []
    for part in filter(None, map(str.strip, _SENTENCE_END.split(body))):
        if found and part[0].islower():  # the mark before it ended an abbreviation
            found[-1] += f" {part}"
        elif len(found) == LEAD_SENTENCES:
            break
        else:
            found.append(part)
    return " ".join(found)


def _words(texts: list[str]) -> float:
    return round(sum(len(text.split()) for text in texts) / len(texts), 1)
