"""Which articles a corpus has already: an index on disk, so that memory does not grow with it."""

import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from worker_client.corpus.fingerprint import Fingerprint, similarity
from worker_client.corpus.quality import Reason

CACHE_KIB = 16 * 1024
# Articles made of one mould are candidates of each other; comparing them all would never end.
MOST_CANDIDATES = 256
_TABLES = """
CREATE TABLE IF NOT EXISTS piece (number INTEGER PRIMARY KEY, sha256 TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS tally (language TEXT, name TEXT, amount INTEGER NOT NULL,
    PRIMARY KEY (language, name)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS original (id INTEGER PRIMARY KEY, signature BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS digest (value BLOB PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS band (key INTEGER, original INTEGER, PRIMARY KEY (key, original))
    WITHOUT ROWID;
"""
_ADD = (
    "INSERT INTO tally VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET amount = amount + excluded.amount"
)
_LIKELIEST = f"""
SELECT signature FROM original JOIN
    (SELECT original, COUNT(*) AS shared FROM band WHERE key IN ({{}})
     GROUP BY original ORDER BY shared DESC, original LIMIT {MOST_CANDIDATES})
    ON id = original
"""


class Originals:
    """An index of articles, and how far the corpus has been read into it."""

    def __init__(self, path: Path, least_similarity: float) -> None:
        self._least_similarity = least_similarity
        self._rows = sqlite3.connect(path, isolation_level=None)
        self._rows.execute("PRAGMA journal_mode = WAL")
        self._rows.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
        self._rows.executescript(_TABLES)

    def close(self) -> None:
        self._rows.close()

    @property
    def pieces(self) -> int:
        """How many pieces are in the index: 0 to this minus one."""
        return self._rows.execute("SELECT COUNT(*) FROM piece").fetchone()[0]

    @contextmanager
    def piece(self) -> Iterator[None]:
        """All of a piece is taken in, or, if anything goes wrong, nothing of it."""
        self._rows.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._rows.execute("ROLLBACK")
            raise
        self._rows.execute("COMMIT")

    def take(self, found: Fingerprint) -> Reason | None:
        """Remember an article, unless it is a copy of one that is there, or nearly one."""
        known = self._rows.execute("SELECT 1 FROM digest WHERE value = ?", (found.digest,))
        if known.fetchone():
            return Reason.DUPLICATE
        if self._is_near(found):
            return Reason.NEAR_DUPLICATE
        self._rows.execute("INSERT INTO digest VALUES (?)", (found.digest,))
        sql = "INSERT INTO original (signature) VALUES (?)"
        number = self._rows.execute(sql, (found.signature,)).lastrowid
        bands = [(key, number) for key in set(found.bands)]
        self._rows.executemany("INSERT INTO band VALUES (?, ?)", bands)
        return None

    def _is_near(self, found: Fingerprint) -> bool:
        asked = ", ".join("?" * len(found.bands))
        candidates = self._rows.execute(_LIKELIEST.format(asked), found.bands)
        return any(
            similarity(found.signature, other) >= self._least_similarity for (other,) in candidates
        )

    def finish_piece(self, number: int, sha256: str, counts: Counter[tuple[str, str]]) -> None:
        """``counts``: amounts by language and name."""
        rows = [(*key, amount) for key, amount in counts.items()]
        self._rows.executemany(_ADD, rows)
        self._rows.execute("INSERT INTO piece VALUES (?, ?)", (number, sha256))

    def digests(self) -> Iterator[str]:
        """SHA-256 of each piece's articles, in order."""
        for (sha256,) in self._rows.execute("SELECT sha256 FROM piece ORDER BY number"):
            yield sha256

    def counts(self) -> dict[str, dict[str, int]]:
        """Amounts by name, by language."""
        found: dict[str, dict[str, int]] = {}
        for language, name, amount in self._rows.execute("SELECT * FROM tally ORDER BY 1, 2"):
            found.setdefault(language, {})[name] = amount
        return found
