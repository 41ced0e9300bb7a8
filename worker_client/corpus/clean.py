"""Normalising text: one way to write what reads the same."""

import re
import sys
import unicodedata
from dataclasses import replace
from functools import cache

from worker_client.data.article import Article

# Characters without a shape: controls, soft hyphens, zero-width spaces, marks of direction and of
# byte order, halves of surrogate pairs, non-characters. Joiners stay: they change how words look.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069"
    "\ufeff\ufff9-\ufffb\ufffe\uffff\ud800-\udfff]"
)
# Longer runs of marks on one character are nobody's writing, and sorting them takes quadratic time
# (Unicode Standard Annex 15, section 13).
MOST_MARKS = 30
_LINE_ENDS = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_BLANKS = re.compile(r"[^\S\n]+")
_AROUND_LINE_ENDS = re.compile(" ?\n ?")
_EMPTY_LINES = re.compile("\n{3,}")


def normalise(text: str) -> str:
    """NFC without invisible characters; single blanks, at most one empty line, no blank ends."""
    text = _INVISIBLE.sub("", _LINE_ENDS.sub("\n", text))
    text = unicodedata.normalize("NFC", _many_marks().sub(r"\1", text))
    text = _AROUND_LINE_ENDS.sub("\n", _BLANKS.sub(" ", text))
    return _EMPTY_LINES.sub("\n\n", text).strip()


@cache
def _many_marks() -> re.Pattern[str]:
    marks = "".join(filter(unicodedata.combining, map(chr, range(sys.maxunicode + 1))))
    return re.compile(f"([{marks}]{{{MOST_MARKS}}})[{marks}]+")


def normalise_article(article: Article) -> Article:
    """Titles and categories become one line."""
    return replace(
        article,
        title=normalise(article.title).replace("\n", " "),
        summary=normalise(article.summary),
        category=normalise(article.category).replace("\n", " "),
        body=normalise(article.body),
    )
