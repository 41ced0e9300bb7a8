"""Articles, as a corpus holds them: one JSON object a line."""

import json
import re
from dataclasses import asdict, dataclass

FIELDS = ("title", "summary", "category", "body", "language")
UNKNOWN = "und"
_LANGUAGE = re.compile(r"[a-z]{2,3}")


class Unreadable(Exception):
    """A line that holds no article."""


@dataclass(frozen=True)
class Article:
    """``language`` is an ISO 639 code of two or three letters, ``und`` where nobody knows."""

    title: str
    summary: str
    category: str
    body: str
    language: str

    @property
    def text(self) -> str:
        """What a model is to read: title, summary and body, a summary cut out of the body once."""
        summary = "" if self.summary in self.body else self.summary
        return "\n\n".join(part for part in (self.title, summary, self.body) if part)

    def to_line(self) -> bytes:
        """The article as ``read_article`` takes it, with the line's end."""
        return json.dumps(asdict(self), ensure_ascii=False).encode() + b"\n"


def read_article(line: bytes) -> Article:
    """An article out of a line of JSON; only ``body`` must be there.

    Raises:
        Unreadable: no JSON object, no body, or a field that is no text.
    """
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        raise Unreadable from None
    return article_of(row)


def article_of(row: object) -> Article:
    """An article out of a decoded line.

    Raises:
        Unreadable: as ``read_article``.
    """
    if not isinstance(row, dict) or not isinstance(row.get("body"), str):
        raise Unreadable
    fields = {name: "" if row.get(name) is None else row[name] for name in FIELDS}
    if not all(isinstance(value, str) for value in fields.values()):
        raise Unreadable
    return Article(**fields | {"language": language_code(fields["language"])})


def language_code(tag: str) -> str:
    """``pt`` of ``pt-BR`` or ``PT_br``; ``und`` of what is no language tag."""
    code = re.split("[-_]", tag.strip().lower(), maxsplit=1)[0]
    return code if _LANGUAGE.fullmatch(code) else UNKNOWN
