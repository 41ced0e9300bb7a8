"""Verb: a packed corpus into the shards that a run serves."""

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np

from worker_client.corpus.describe import describe
from worker_client.corpus.documents import Split
from worker_client.corpus.pack import BYTE_LENGTHS, rows_file
from worker_client.corpus.pack import NAME as PACK
from worker_client.corpus.processes import in_order
from worker_client.corpus.workspace import Step, write
from worker_client.data.errors import DataError
from worker_client.data.make import LIST_FILE
from worker_client.data.write import ShardFile, shard_name, write_shard
from worker_client.models.digests import sha256_file
from worker_client.models.progress import Progress, silent

SPOOL = "rows.i4"
# Enough to measure by, and quick to measure.
MOST_HELD_OUT_ROWS = 512


@dataclass(frozen=True)
class Slice:
    """One shard: rows ``first``, ``first + stride``, ... of a file of rows, ``count`` of them."""

    name: str
    rows: Path
    first: int
    stride: int
    count: int
    language: str | None = None


def shard(
    corpus: Path,
    folder: Path,
    shards: int,
    *,
    by_language: bool = False,
    source: str = "",
    licence: str = "",
    processes: int = 1,
    again: bool = False,
    progress: Progress = silent,
) -> dict:
    """Write ``shards`` files into ``folder``, and one of each language's first held-out rows.

    All are equal, each with every language in proportion; ``by_language`` gives each one language
    and every language as many. ``shards.json`` lists them, with what is told of the corpus.

    Raises:
        DataError: too few rows, or a folder that holds other shards.
    """
    packed = Step(corpus, PACK).report()
    step = Step(corpus, "shard", folder, LIST_FILE, ("*.safetensors", SPOOL))
    names = ("corpus", "tokenizer", "seq", "held-out", "seed")
    plan = {name: packed[name] for name in names}
    plan |= {"shards": shards, "by-language": by_language, "source": source, "licence": licence}
    with step.working(plan, again=again):
        if step.is_done:
            return step.report()
        slices = _cut(corpus, folder, packed, shards, by_language) + _held_out(corpus, packed)
        listed = _write_all(corpus, slices, folder, packed, processes, progress)
        (folder / SPOOL).unlink(missing_ok=True)
        return step.finish(
            {
                "shards": listed[:shards],
                "held_out": listed[shards:],
                "source": source,
                "licence": licence,
                "corpus": describe(corpus).model_dump(),
            }
        )


def _cut(corpus: Path, folder: Path, packed: dict, shards: int, by_language: bool) -> list[Slice]:
    files = _files(corpus, packed, "train")
    if by_language:
        return list(_one_language_each(files, shards))
    total = sum(rows for _, rows in files.values())
    _check(total, shards, "the corpus")
    spool = folder / SPOOL
    if not spool.exists():
        parts = [rows_of(path, packed["seq"]) for path, _ in files.values()]
        write(spool, mixed(parts))
    return [
        Slice(shard_name(number), spool, number, shards, total // shards)
        for number in range(shards)
    ]


def _one_language_each(files: dict[str, tuple[Path, int]], shards: int) -> Iterator[Slice]:
    each, rest = divmod(shards, len(files))
    if rest:
        raise DataError(
            f"{shards} shards cannot be shared among {len(files)} languages; take a multiple"
        )
    for index, (language, (path, rows)) in enumerate(files.items()):
        _check(rows, each, language)
        for number in range(each):
            name = shard_name(index * each + number)
            yield Slice(name, path, number, each, rows // each, language)


def _check(rows: int, shards: int, what: str) -> None:
    if rows < shards:
        raise DataError(
            f"{what} makes {rows} rows, too few for {shards} shards; give more text, or take fewer "
            "shards, or shorter rows in `corpus pack`"
        )


def _files(corpus: Path, packed: dict, part: str) -> dict[str, tuple[Path, int]]:
    """The file of each language and how many rows it has, where it has any."""
    folder = Step(corpus, PACK).folder
    return {
        language: (rows_file(folder, Split(language, part == "held_out")), found[part]["rows"])
        for language, found in packed["languages"].items()
        if found.get(part, {}).get("rows")
    }


def rows_of(path: Path, seq_len: int) -> np.ndarray:
    """A file of rows, int32 ``[rows, seq]``, mapped rather than loaded."""
    return np.memmap(path, "<i4", mode="r").reshape(-1, seq_len)


def mixed(parts: Sequence[np.ndarray]) -> Iterator[bytes]:
    """All rows of all parts, each part's in their order and evenly spread over the whole."""
    streams = [_spread(number, rows) for number, rows in enumerate(parts)]
    for _, _, row in heapq.merge(*streams, key=lambda found: found[:2]):
        yield row


def _spread(number: int, rows: np.ndarray) -> Iterator[tuple[float, int, bytes]]:
    for index, row in enumerate(rows):
        yield (index + 0.5) / len(rows), number, row.tobytes()


def _held_out(corpus: Path, packed: dict) -> list[Slice]:
    return [
        Slice(f"{path.stem}.safetensors", path, 0, 1, min(rows, MOST_HELD_OUT_ROWS), language)
        for language, (path, rows) in _files(corpus, packed, "held_out").items()
    ]


def _write_all(
    corpus: Path,
    slices: list[Slice],
    folder: Path,
    packed: dict,
    processes: int,
    progress: Progress,
) -> list[dict]:
    work = partial(
        write_slice,
        folder=folder,
        seq_len=packed["seq"],
        tokenizer_sha256=packed["tokenizer"],
        byte_lengths=np.load(Step(corpus, PACK).folder / BYTE_LENGTHS),
    )
    total, listed = sum(found.count for found in slices), []
    for found, written in zip(slices, in_order(work, slices, processes), strict=True):
        language = (
            {} if found.rows.name == SPOOL else {"language": found.rows.stem.rsplit("-", 1)[1]}
        )
        listed.append(asdict(written) | language)
        progress("shard", sum(row["rows"] for row in listed), total, "row")
    return listed


def write_slice(
    found: Slice, folder: Path, seq_len: int, tokenizer_sha256: str, byte_lengths: np.ndarray
) -> ShardFile:
    """Write a shard, unless it is there already."""
    path = folder / found.name
    if path.exists():
        return ShardFile(found.name, sha256_file(path), path.stat().st_size, found.count)
    whole = np.memmap(found.rows, "<i4", mode="r").reshape(-1, 1, seq_len)
    rows = whole[found.first :: found.stride][: found.count]
    return write_shard(path, rows, tokenizer_sha256, byte_lengths)
