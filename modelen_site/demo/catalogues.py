"""Messages and their translations from the catalogues of installed packages."""

import ast
import re
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

SOURCE = "installed tr catalogues"
LICENCE = "each package's own; Django's is BSD-3-Clause"
LINE = re.compile(r'(?:(msgid|msgid_plural|msgstr|msgstr\[\d+\]|msgctxt) )?(".*")')
# Shorter ones are labels ("First name"), and markup is no language.
LEAST_WORDS = 4
MARKUP = re.compile(r"[<>{}\\]")


class Message(NamedTuple):
    english: str
    translation: str


def read_messages() -> list[Message]:
    """Every sentence with a Turkish translation once, in a fixed order."""
    return [message for message in read_all("tr") if _is_prose(message)]


def read_all(language: str) -> list[Message]:
    """Every translated message of a language once, labels and markup too, in a fixed order."""
    found = {message for path in _catalogues(language) for message in _read(path)}
    return sorted(message for message in found if all(message))


def _catalogues(language: str) -> list[Path]:
    packages = Path(sysconfig.get_path("purelib"))
    # Not "**": walking all of torch takes seconds.
    patterns = ("*/" * depth + f"locale/{language}/LC_MESSAGES/*.po" for depth in (1, 2, 3))
    return sorted(path for pattern in patterns for path in packages.glob(pattern))


def _read(path: Path) -> Iterator[Message]:
    for entry in path.read_text("utf-8").split("\n\n"):
        fields = _fields(entry)
        yield Message(fields.get("msgid", ""), fields.get("msgstr", ""))


def _fields(entry: str) -> dict[str, str]:
    """``{"msgid": ..., "msgstr": ...}`` of one entry; commented-out lines do not count."""
    fields: dict[str, str] = {}
    keyword = ""
    for line in entry.splitlines():
        if found := LINE.fullmatch(line.strip()):
            keyword = found[1] or keyword
            fields[keyword] = fields.get(keyword, "") + ast.literal_eval(found[2])
    return fields


def _is_prose(message: Message) -> bool:
    return all(len(text.split()) >= LEAST_WORDS and not MARKUP.search(text) for text in message)
