"""Making equal shards of a text, however large, in bounded memory."""

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from worker_client.contract.formats import Format
from worker_client.contract.tensors import build_header
from worker_client.data.documents import read_pairs, read_texts
from worker_client.data.errors import DataError
from worker_client.data.pack import Counts, pack_texts, pad_pairs
from worker_client.models.load import load_codec
from worker_client.models.progress import Progress, silent
from worker_client.models.store import ModelStore

COPIED_ROWS = 4096
LIST_FILE = "shards.json"


@dataclass(frozen=True)
class ShardFile:
    file: str
    sha256: str
    size: int
    rows: int


@dataclass(frozen=True)
class ShardReport:
    """``dropped_rows`` did not divide evenly among the shards."""

    shards: list[ShardFile]
    rows: int
    dropped_rows: int
    counts: Counts

    def to_json(self) -> dict:
        return asdict(self)


def make_shards(
    fmt: Format,
    store: ModelStore,
    inputs: Iterable[Path],
    folder: Path,
    *,
    mode: str,
    seq_len: int,
    shards: int,
    tokenizer: Path | None = None,
    progress: Progress = silent,
) -> ShardReport:
    """Tokenise ``inputs`` and write ``shards`` files of equally many rows into ``folder``.

    Row j goes to shard j modulo ``shards``, so that each shard sees all of a long text.
    Also writes ``shards.json``, the list of files.

    Raises:
        DataError: unreadable input, or too little text for one row per shard.
        ModelMissing: the base model's tokenizer is not on this computer.
        TokenizerRefused: a model from scratch needs ``tokenizer``, the run's ``tokenizer.json``.
    """
    codec, counts = load_codec(fmt, store, tokenizer), Counts()
    if mode == "sft":
        rows = pad_pairs(read_pairs(inputs), codec, seq_len, counts)
    else:
        rows = pack_texts(read_texts(inputs), codec, seq_len, counts)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder) as spool:
        total = _spool(rows, spool, progress)
        each = total // shards
        if each < 1:
            raise DataError(
                f"the text makes {total} rows of {seq_len} tokens, too few for {shards} shards; "
                "give more text, or fewer shards or shorter rows"
            )
        planes = 2 if mode == "sft" else 1
        whole = np.memmap(spool, "<i4", mode="r", shape=(total, planes, seq_len))
        files = [
            write_shard(folder, number, whole[number::shards][:each], codec.sha256)
            for number in range(shards)
        ]
    report = ShardReport(files, each * shards, total - each * shards, counts)
    listed = json.dumps([asdict(file) for file in files], indent=1) + "\n"
    (folder / LIST_FILE).write_text(listed, "utf-8")
    return report


def _spool(rows: Iterator[np.ndarray], spool: BinaryIO, progress: Progress) -> int:
    total = 0
    for row in rows:
        spool.write(row.astype("<i4").tobytes())
        total += 1
        progress("tokenise", total, None, "row")
    spool.flush()
    return total


def write_shard(folder: Path, number: int, rows: np.ndarray, tokenizer_sha256: str) -> ShardFile:
    """Write one shard of ``rows``: int32 ``[n, 1 or 2, seq]``, input_ids and labels."""
    path = folder / f"shard-{number:05d}.safetensors"
    count, planes, seq_len = rows.shape
    listed = [(name, "I32", (count, seq_len)) for name in ("input_ids", "labels")[:planes]]
    digest, temporary = hashlib.sha256(), path.with_suffix(".part")
    with temporary.open("wb") as file:
        for piece in _pieces(build_header(listed, {"belirtec_sha256": tokenizer_sha256}), rows):
            digest.update(piece)
            file.write(piece)
        size = file.tell()
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    return ShardFile(path.name, digest.hexdigest(), size, count)


def _pieces(header: bytes, rows: np.ndarray) -> Iterator[bytes]:
    yield header
    for plane in range(rows.shape[1]):
        for start in range(0, len(rows), COPIED_ROWS):
            yield rows[start : start + COPIED_ROWS, plane].tobytes()
