"""Documents out of files: plain text, JSON lines, or a folder of both, one at a time."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from worker_client.data.article import UNKNOWN, Article, Unreadable, article_of, language_code
from worker_client.data.errors import DataError

SUFFIXES = (".txt", ".jsonl")
PAIR_FIELDS = (("prompt", "response"), ("instruction", "output"))
SUMMARISE = "Summarise this text:\n\n"


@dataclass(frozen=True)
class Pair:
    """An instruction and its answer. ``matter`` is the end of the instruction, which may be cut
    where a row is too short for all of it."""

    prompt: str
    response: str
    matter: str = ""


def read_texts(paths: Iterable[Path]) -> Iterator[str]:
    """One text per ``.txt`` file and per line of a ``.jsonl`` file: its field ``text``, or an
    article, as ``corpus`` takes them.

    Raises:
        DataError: names file and line.
    """
    for path in _files(paths):
        if path.suffix == ".txt":
            yield _decode(path)
            continue
        for where, row in _read_rows(path):
            yield _text(where, row)


def read_by_language(paths: Iterable[Path]) -> dict[str, list[str]]:
    """Texts by language as articles of ``.jsonl`` files say it; ``und`` where nobody does, and of
    other files, each of which is one text.

    Raises:
        DataError: names file and line.
    """
    found: dict[str, list[str]] = {}
    for path in paths:
        if path.suffix != ".jsonl":
            found.setdefault(UNKNOWN, []).append(_decode(path))
            continue
        for where, row in _read_rows(path):
            tag = row.get("language")
            language = language_code(tag) if isinstance(tag, str) else UNKNOWN
            found.setdefault(language, []).append(_text(where, row))
    return found


def _text(where: str, row: dict) -> str:
    if isinstance(row.get("text"), str):
        return row["text"]
    try:
        return article_of(row).text
    except Unreadable:
        raise DataError(f'{where} has no field "text" with a string, and is no article') from None


def read_pairs(paths: Iterable[Path]) -> Iterator[Pair]:
    """One pair per line of the ``.jsonl`` files: prompt/response, instruction/output, or an article
    whose summary is to be written.

    Raises:
        DataError: names file and line.
    """
    for path in _files(paths):
        if path.suffix != ".jsonl":
            raise DataError(f"{path} is no .jsonl file; instruction data is one JSON object a line")
        for where, row in _read_rows(path):
            yield _pair(where, row)


def read_summarised(path: Path) -> Iterator[Article]:
    """The articles of a ``.jsonl`` file that have a summary.

    Raises:
        DataError: names file and line of what is no article; or none has a summary.
    """
    found = False
    for where, row in _read_rows(path):
        try:
            article = article_of(row)
        except Unreadable:
            raise DataError(f"{where} is no article") from None
        if article.summary.strip():
            found = True
            yield article
    if not found:
        raise DataError(f"no article in {path} has a summary")


def _pair(where: str, row: dict) -> Pair:
    for prompt, response in PAIR_FIELDS:
        if isinstance(row.get(prompt), str) and isinstance(row.get(response), str):
            more = row.get("input") if prompt == "instruction" else None
            question = f"{row[prompt]}\n\n{more}" if isinstance(more, str) and more else row[prompt]
            return Pair(question, row[response])
    if isinstance(row.get("body"), str) and isinstance(row.get("summary"), str):
        return summary_pair(row["body"], row["summary"])
    raise DataError(
        f"{where} has neither prompt and response, nor instruction and output, nor body and summary"
    )


def summary_pair(body: str, summary: str = "") -> Pair:
    """The instruction to summarise a text, and the answer."""
    return Pair(SUMMARISE, summary, matter=body)


def _files(paths: Iterable[Path]) -> Iterator[Path]:
    for path in paths:
        if path.is_dir():
            found = sorted(p for p in path.rglob("*") if p.suffix in SUFFIXES and p.is_file())
            if not found:
                raise DataError(f"the folder {path} has no .txt or .jsonl file")
            yield from found
        elif path.suffix in SUFFIXES and path.is_file():
            yield path
        else:
            raise DataError(f"{path} is no .txt or .jsonl file and no folder of such")


def _decode(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 (byte {error.start}); convert it first") from None


def _read_rows(path: Path) -> Iterator[tuple[str, dict]]:
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            where = f"{path}, line {number},"
            try:
                row = json.loads(line)
            except ValueError:
                raise DataError(f"{where} is not JSON") from None
            if not isinstance(row, dict):
                raise DataError(f"{where} is not a JSON object")
            yield where, row
