"""Unpacked packages as articles of one language.

Translations are unfinished: a paragraph that is also in English is not taken for a translation.
One that was there before, such as a translator's notice, is taken once.
"""

import gzip
from collections.abc import Iterable, Iterator
from pathlib import Path

from benchmarks.scratch.descriptions import descriptions
from benchmarks.scratch.markup import Section, sections
from benchmarks.scratch.packages import PACKAGES, Packages
from benchmarks.scratch.roff import paragraphs
from worker_client.corpus.clean import normalise
from worker_client.data.article import Article

SHORTEST = {"ja": 15}
USUAL_SHORTEST = 40
# The handbook has all its languages in one package.
HANDBOOK = {"en": "en-US", "de": "de-DE", "fr": "fr-FR", "ja": "ja-JP", "tr": "tr-TR"}
DESCRIPTIONS = "package descriptions"


def articles(packages: Packages, language: str, seen: set[int]) -> Iterator[Article]:
    """Everything in ``language``, in a fixed order. ``seen`` are digests of paragraphs that are not
    taken; those taken join them."""
    for category, section in _sections(packages, language):
        kept = list(_new(section.paragraphs, language, seen))
        if not kept:
            continue
        summary, body = (kept[0], kept[1:]) if len(kept) > 1 else ("", kept)
        yield Article(normalise(section.title), summary, category, "\n\n".join(body), language)


def _new(found: Iterable[str], language: str, seen: set[int]) -> Iterator[str]:
    for text in map(normalise, found):
        digest = hash(text)
        if len(text) >= SHORTEST.get(language, USUAL_SHORTEST) and digest not in seen:
            seen.add(digest)
            yield text


def _sections(packages: Packages, language: str) -> Iterator[tuple[str, Section]]:
    for name in PACKAGES[language]:
        for path in _files(packages.folder(name), language):
            if path.suffix == ".gz":
                page = gzip.decompress(path.read_bytes()).decode("utf-8", "replace")
                title, section = path.name.split(".")[:2]
                yield f"man {section}", Section(f"{title}({section})", list(paragraphs(page)))
            else:
                for found in sections(path.read_text("utf-8", "replace")):
                    yield name, found
    for path in packages.translations(language):
        with path.open(encoding="utf-8") as lines:
            for found in descriptions(lines):
                yield DESCRIPTIONS, found


def _files(folder: Path, language: str) -> Iterator[Path]:
    """Pages of manuals and of books; links lead to what is found elsewhere."""
    for path in sorted(folder.rglob("*")):
        place = path.relative_to(folder).as_posix()
        if path.is_symlink() or not path.is_file():
            continue
        if path.suffix == ".gz" and "/man/" in place and path.parent.name.startswith("man"):
            yield path
        elif path.suffix == ".html" and _is_written_in(language, place):
            yield path


def _is_written_in(language: str, place: str) -> bool:
    if "/debian-handbook/" in place:
        return f"/html/{HANDBOOK[language]}/" in place
    return True
