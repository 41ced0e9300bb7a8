"""Books and help in HTML as sections of paragraphs."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

_BLOCKS = set("p div li dd dt td th tr section article body blockquote ul ol dl table".split())
_HEADINGS = {"h1", "h2", "h3"}
_LEFT_OUT = set("head script style pre nav header footer aside button select".split())
_LEFT_OUT_CLASSES = set(
    "toc navheader navfooter related docnav sphinxsidebar footer indexterm headerlink highlight "
    "literallayout debug screen programlisting".split()
)
_NUMBER = re.compile(r"^[\dA-Z]+(\.\d+)*\.\s+")


@dataclass
class Section:
    title: str = ""
    paragraphs: list[str] = field(default_factory=list)


def sections(page: str) -> Iterator[Section]:
    """What stands under each heading of a page that has any text."""
    reader = _Reader()
    reader.feed(page)
    reader.close()
    reader.end_paragraph()
    yield from (found for found in reader.sections if found.title and found.paragraphs)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.sections = [Section()]
        self._words: list[str] = []
        self._in_heading = False
        self._left_out, self._depth = "", 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        classes = set((dict(attrs).get("class") or "").split())
        if self._left_out:
            self._depth += tag == self._left_out
        elif tag in _LEFT_OUT or classes & _LEFT_OUT_CLASSES:
            self._left_out, self._depth = tag, 1
        elif tag in _HEADINGS:
            self.end_paragraph()
            self._in_heading = True
        elif tag in _BLOCKS and not self._in_heading:
            self.end_paragraph()

    def handle_endtag(self, tag: str) -> None:
        if self._left_out:
            self._depth -= tag == self._left_out
            if not self._depth:
                self._left_out = ""
        elif tag in _HEADINGS and self._in_heading:
            self._in_heading = False
            title = _NUMBER.sub("", self._take())
            self.sections.append(Section(title))
        elif tag in _BLOCKS and not self._in_heading:
            self.end_paragraph()

    def handle_data(self, data: str) -> None:
        if not self._left_out:
            self._words.append(data)

    def end_paragraph(self) -> None:
        text = self._take()
        if text:
            self.sections[-1].paragraphs.append(text)

    def _take(self) -> str:
        text = " ".join("".join(self._words).split())
        self._words = []
        return text
