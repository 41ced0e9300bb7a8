"""Which articles are worth keeping, and why not the others.

Shares of repeated lines and of letters, and lengths of words, as in J. Rae et al., Scaling Language
Models: Methods, Analysis & Insights from Training Gopher, 2021, appendix A.1.
"""

import re
from dataclasses import dataclass
from enum import StrEnum

MOST_REPEATED_LINES = 0.3
MOST_REPEATED_SHINGLES = 0.5
LEAST_LETTERS = 0.6
LONGEST_WORDS = 10
MOST_DAMAGED = 1e-3
_LETTERS = re.compile(r"[^\W\d_]+")


class Reason(StrEnum):
    """Why an article was left out."""

    UNREADABLE = "unreadable"
    TOO_LONG = "too_long"
    UNWANTED_LANGUAGE = "unwanted_language"
    SHORT = "short"
    DAMAGED = "damaged"
    FEW_LETTERS = "few_letters"
    LONG_WORDS = "long_words"
    REPETITIVE = "repetitive"
    OTHER_LANGUAGE = "other_language"
    DUPLICATE = "duplicate"
    NEAR_DUPLICATE = "near_duplicate"


@dataclass(frozen=True)
class Rules:
    """What a corpus takes: ``languages`` empty means all; lengths in characters."""

    languages: tuple[str, ...] = ()
    min_characters: int = 200
    similarity: float = 0.8


def fault(text: str, words: list[str], shingles: list[str], rules: Rules) -> Reason | None:
    """What is wrong with a normalised text of such words and shingles."""
    if len(text) < rules.min_characters:
        return Reason.SHORT
    if text.count("\ufffd") > MOST_DAMAGED * len(text):
        return Reason.DAMAGED
    if _share_of_letters(text) < LEAST_LETTERS:
        return Reason.FEW_LETTERS
    if sum(map(len, words)) > LONGEST_WORDS * len(words):
        return Reason.LONG_WORDS
    lines = [line for line in text.split("\n") if line]
    if _repeated(lines) > MOST_REPEATED_LINES or _repeated(shingles) > MOST_REPEATED_SHINGLES:
        return Reason.REPETITIVE
    return None


def _share_of_letters(text: str) -> float:
    visible = len(text) - text.count(" ") - text.count("\n")
    return sum(map(len, _LETTERS.findall(text))) / max(1, visible)


def _repeated(parts: list[str]) -> float:
    return 1 - len(set(parts)) / max(1, len(parts))
