"""Verb: one line of a corpus, cleaned and judged."""

from dataclasses import dataclass, replace

from worker_client.corpus.clean import normalise_article
from worker_client.corpus.fingerprint import Fingerprint, fingerprint, shingles, words
from worker_client.corpus.language import identify, is_known
from worker_client.corpus.quality import Reason, Rules, fault
from worker_client.data.article import UNKNOWN, Article, Unreadable, read_article


@dataclass(frozen=True)
class Kept:
    """An article that stands on its own; whether it is a copy, only the corpus knows."""

    article: Article
    fingerprint: Fingerprint


@dataclass(frozen=True)
class Dropped:
    reason: Reason
    language: str


def judge(line: bytes, rules: Rules) -> Kept | Dropped:
    """Normalise the article in ``line`` and say whether ``rules`` take it."""
    try:
        article = normalise_article(read_article(line))
    except Unreadable:
        return Dropped(Reason.UNREADABLE, UNKNOWN)
    text = article.text
    found = words(text)
    parts = shingles(found)
    reason = fault(text, found, parts, rules)
    if reason is None:
        article, reason = _with_language(article, text)
    if reason is None and rules.languages and article.language not in rules.languages:
        reason = Reason.UNWANTED_LANGUAGE
    if reason is not None:
        return Dropped(reason, article.language)
    return Kept(article, fingerprint(found, parts))


def _with_language(article: Article, text: str) -> tuple[Article, Reason | None]:
    """Names the language of an article that does not say it; compares it with one that does."""
    if article.language == UNKNOWN:
        return replace(article, language=identify(text)), None
    if is_known(article.language) and identify(text) != article.language:
        return article, Reason.OTHER_LANGUAGE
    return article, None
