"""English and Turkish messages from the translation catalogues of installed packages."""

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
    turkish: str


def read_messages() -> list[Message]:
    """Every translated sentence once, in a fixed order."""
    found = {message for path in _catalogues() for message in _read(path) if _is_prose(message)}
    return sorted(found)


def _catalogues() -> list[Path]:
    packages = Path(sysconfig.get_path("purelib"))
    # Not "**": walking all of torch takes seconds.
    patterns = ("*/" * depth + "locale/tr/LC_MESSAGES/*.po" for depth in (1, 2, 3))
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
