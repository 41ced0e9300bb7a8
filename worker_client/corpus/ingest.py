"""Verb: articles into a clean corpus, each once, everything left out counted."""

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict
from functools import partial
from itertools import islice
from pathlib import Path

from worker_client.corpus.judge import Dropped, Kept, judge
from worker_client.corpus.originals import Originals
from worker_client.corpus.pieces import PIECE_BYTES, Piece, article_files, lines, pieces
from worker_client.corpus.processes import in_order
from worker_client.corpus.quality import Reason, Rules
from worker_client.corpus.workspace import Step, write
from worker_client.data.article import UNKNOWN
from worker_client.data.errors import DataError
from worker_client.models.progress import Progress, silent

NAME = "ingest"
ARTICLES = "articles"
DROPPED = "dropped."
Counts = Counter[tuple[str, str]]


def ingest(
    corpus: Path,
    inputs: Iterable[Path],
    rules: Rules,
    *,
    processes: int = 1,
    again: bool = False,
    piece_bytes: int = PIECE_BYTES,
    progress: Progress = silent,
) -> dict:
    """Clean the articles of ``inputs`` into ``corpus``; returns the report.

    Of copies the first is kept. The same inputs and rules give the same bytes, with any number of
    processes and however often the work is ended and begun again.

    Raises:
        DataError: inputs that cannot be read, or a folder made with others.
    """
    step, files = Step(corpus, NAME), article_files(inputs)
    plan = {"inputs": [_identity(path) for path in files], **asdict(rules), "piece": piece_bytes}
    with step.working(plan, again=again):
        if step.is_done:
            return step.report()
        (step.folder / ARTICLES).mkdir(exist_ok=True)
        originals = Originals(step.folder / "originals.sqlite3", rules.similarity)
        try:
            cut = pieces(files, piece_bytes)
            done = sum(piece.size for piece in islice(cut, originals.pieces))
            judged = in_order(partial(judge_piece, rules=rules), cut, processes)
            total = sum(path.stat().st_size for path in files)
            for number, (size, verdicts) in enumerate(judged, originals.pieces):
                _take(step.folder / ARTICLES, number, verdicts, originals)
                done += size
                progress("ingest", done, total, "B")
            return step.finish(_report(originals))
        finally:
            originals.close()


def clean_files(corpus: Path) -> list[Path]:
    """The files of articles that ``ingest`` made.

    Raises:
        DataError: it has not been done.
    """
    step = Step(corpus, NAME)
    step.report()
    return sorted((step.folder / ARTICLES).glob("*.jsonl"))


def _identity(path: Path) -> list:
    found = path.stat()
    return [str(path.resolve()), found.st_size, found.st_mtime_ns]


def judge_piece(piece: Piece, rules: Rules) -> tuple[int, list[Kept | Dropped]]:
    """A piece's size in bytes, and what becomes of each of its lines."""
    return piece.size, [
        Dropped(Reason.TOO_LONG, UNKNOWN) if line is None else judge(line, rules)
        for line in lines(piece)
    ]


def _take(folder: Path, number: int, verdicts: list[Kept | Dropped], originals: Originals) -> None:
    """The piece's file first, then, all at once, what says that it is there."""
    counts, kept = Counts(), []
    with originals.piece():
        for verdict in verdicts:
            verdict = _unless_copy(verdict, originals)
            _count(verdict, counts)
            if isinstance(verdict, Kept):
                kept.append(verdict.article.to_line())
        write(folder / f"{number:06d}.jsonl", kept)
        originals.finish_piece(number, hashlib.sha256(b"".join(kept)).hexdigest(), counts)


def _unless_copy(verdict: Kept | Dropped, originals: Originals) -> Kept | Dropped:
    if isinstance(verdict, Dropped):
        return verdict
    reason = originals.take(verdict.fingerprint)
    return verdict if reason is None else Dropped(reason, verdict.article.language)


def _count(verdict: Kept | Dropped, counts: Counts) -> None:
    if isinstance(verdict, Dropped):
        counts[verdict.language, DROPPED + verdict.reason] += 1
        return
    article = verdict.article
    counts[article.language, "kept"] += 1
    counts[article.language, "characters"] += len(article.text)
    counts[article.language, "bytes"] += len(article.text.encode())


def _report(originals: Originals) -> dict:
    """Amounts by language; ``sha256`` stands for all articles in their order."""
    languages = {name: _described(counts) for name, counts in originals.counts().items()}
    if not any(row["kept"] for row in languages.values()):
        raise DataError("no article is left; see the rules with --help")
    digest = hashlib.sha256("".join(originals.digests()).encode()).hexdigest()
    return {"languages": languages, "sha256": digest}


def _described(counts: dict[str, int]) -> dict:
    dropped = {
        name.removeprefix(DROPPED): amount
        for name, amount in counts.items()
        if name.startswith(DROPPED)
    }
    named = {name: counts.get(name, 0) for name in ("kept", "characters", "bytes")}
    return {"read": named["kept"] + sum(dropped.values()), **named, "dropped": dropped}
