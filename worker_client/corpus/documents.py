"""An index on disk of a corpus's tokenised documents, which brings them into any order."""

import hashlib
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

CACHE_KIB = 16 * 1024
_TABLES = """
CREATE TABLE IF NOT EXISTS piece (number INTEGER PRIMARY KEY);
CREATE TABLE IF NOT EXISTS document (language TEXT, held_out INTEGER, place INTEGER, piece INTEGER,
    line_start INTEGER, line_bytes INTEGER, start INTEGER, tokens INTEGER, bytes INTEGER);
"""
_ORDER = "CREATE INDEX IF NOT EXISTS in_order ON document (language, held_out, place, piece, start)"


@dataclass(frozen=True)
class Document:
    """Where a document is: its line in the piece's articles, its tokens in the piece's tokens.

    ``place`` orders the documents of a split; ``bytes`` are its text's in UTF-8.
    """

    language: str
    held_out: bool
    place: int
    piece: int
    line_start: int
    line_bytes: int
    start: int
    tokens: int
    bytes: int


@dataclass(frozen=True)
class Split:
    language: str
    held_out: bool

    @property
    def name(self) -> str:
        return f"{'held-out' if self.held_out else 'train'}-{self.language}"


def is_held_out(text: str, share: float) -> bool:
    """The same for a text whatever else is in the corpus."""
    return _number(hashlib.sha256(text.encode()).digest()) < share * 2**63


def place_of(text: str, seed: int) -> int:
    """Where a text stands among all others, as good as drawn by ``seed``: 0 to 2^63 - 1."""
    key = seed.to_bytes(8, "little")
    return _number(hashlib.blake2b(text.encode(), digest_size=8, key=key).digest())


def _number(digest: bytes) -> int:
    return int.from_bytes(digest[:8], "big") >> 1


class Documents:
    """The index; its processes may read it at once while nobody writes."""

    def __init__(self, path: Path) -> None:
        self._rows = sqlite3.connect(path, isolation_level=None)
        self._rows.execute("PRAGMA journal_mode = WAL")
        self._rows.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
        self._rows.executescript(_TABLES)

    def close(self) -> None:
        self._rows.close()

    @property
    def pieces(self) -> int:
        return self._rows.execute("SELECT COUNT(*) FROM piece").fetchone()[0]

    def add_piece(self, number: int, documents: Iterable[Document]) -> None:
        """All of a piece or nothing."""
        rows = [tuple(vars(document).values()) for document in documents]
        self._rows.execute("BEGIN IMMEDIATE")
        self._rows.executemany("INSERT INTO document VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
        self._rows.execute("INSERT INTO piece VALUES (?)", (number,))
        self._rows.execute("COMMIT")

    def sort(self) -> None:
        self._rows.execute(_ORDER)

    def splits(self) -> dict[Split, dict[str, int]]:
        """Documents, tokens and bytes of each."""
        found = self._rows.execute(
            "SELECT language, held_out, COUNT(*), SUM(tokens), SUM(bytes) FROM document "
            "GROUP BY 1, 2 ORDER BY 1, 2"
        )
        return {
            Split(language, bool(held_out)): dict(
                zip(("documents", "tokens", "bytes"), amounts, strict=True)
            )
            for language, held_out, *amounts in found
        }

    def of(self, split: Split, most: int = -1) -> Iterator[Document]:
        """The split's documents in their order, at most so many."""
        found = self._rows.execute(
            "SELECT * FROM document WHERE language = ? AND held_out = ? "
            "ORDER BY place, piece, start LIMIT ?",
            (split.language, split.held_out, most),
        )
        for row in found:
            yield Document(*row)
