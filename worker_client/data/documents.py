"""Documents out of files: plain text, JSON lines, or a folder of both, one at a time."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from worker_client.data.article import Unreadable, article_of
from worker_client.data.errors import DataError

SUFFIXES = (".txt", ".jsonl")
PAIR_FIELDS = (("prompt", "response"), ("instruction", "output"))


@dataclass(frozen=True)
class Pair:
    """An instruction and its answer."""

    prompt: str
    response: str


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


def _text(where: str, row: dict) -> str:
    if isinstance(row.get("text"), str):
        return row["text"]
    try:
        return article_of(row).text
    except Unreadable:
        raise DataError(f'{where} has no field "text" with a string, and is no article') from None


def read_pairs(paths: Iterable[Path]) -> Iterator[Pair]:
    """One pair per line of the ``.jsonl`` files: prompt/response or instruction/output.

    Raises:
        DataError: names file and line.
    """
    for path in _files(paths):
        if path.suffix != ".jsonl":
            raise DataError(f"{path} is no .jsonl file; instruction data is one JSON object a line")
        for where, row in _read_rows(path):
            yield _pair(where, row)


def _pair(where: str, row: dict) -> Pair:
    for prompt, response in PAIR_FIELDS:
        if isinstance(row.get(prompt), str) and isinstance(row.get(response), str):
            more = row.get("input") if prompt == "instruction" else None
            question = f"{row[prompt]}\n\n{more}" if isinstance(more, str) and more else row[prompt]
            return Pair(question, row[response])
    raise DataError(f"{where} has neither prompt and response nor instruction and output")


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
