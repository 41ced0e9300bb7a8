"""Reading our own Markdown: fenced blocks, links and headings."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
_FENCE = re.compile(r"```(\w*)\s*")
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"#{1,6} (.*)")


@dataclass(frozen=True)
class Block:
    """``line`` is that of the opening fence, from 1."""

    line: int
    language: str
    text: str


@dataclass(frozen=True)
class Document:
    path: Path

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def text(self) -> str:
        return self.path.read_text("utf-8")

    @property
    def blocks(self) -> list[Block]:
        return list(_blocks(self.text.splitlines()))

    @property
    def prose(self) -> list[tuple[int, str]]:
        """Numbered lines outside of blocks."""
        lines = self.text.splitlines()
        inside = {
            block.line + offset
            for block in self.blocks
            for offset in range(block.text.count("\n") + 2)
        }
        return [(n, line) for n, line in enumerate(lines, 1) if n not in inside]

    @property
    def links(self) -> list[tuple[int, str]]:
        """Line and target of every link and picture."""
        return [(n, found[1]) for n, line in self.prose for found in _LINK.finditer(line)]

    @property
    def anchors(self) -> set[str]:
        """What ``#...`` may name."""
        headings = [found[1] for _, line in self.prose if (found := _HEADING.fullmatch(line))]
        return {_slug(heading) for heading in headings}


def all_documents() -> list[Document]:
    """The pages at the top, then those in ``docs/``."""
    paths = [*sorted(REPO.glob("*.md")), *sorted((REPO / "docs").glob("*.md"))]
    return [Document(path) for path in paths]


def document(name: str) -> Document:
    return next(found for found in all_documents() if found.name == name)


def _blocks(lines: list[str]) -> Iterator[Block]:
    start, language = 0, ""
    for number, line in enumerate(lines, 1):
        fence = _FENCE.fullmatch(line)
        if fence and not start:
            start, language = number, fence[1]
        elif fence:
            text = "".join(f"{inner}\n" for inner in lines[start : number - 1])
            yield Block(start, language, text)
            start = 0
    if start:
        raise ValueError(f"the block that begins at line {start} never ends")


def _slug(heading: str) -> str:
    """As GitHub makes an anchor of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
