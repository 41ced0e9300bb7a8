"""Making equal shards of a text, however large, in bounded memory."""

import json
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from worker_client.contract.formats import Format
from worker_client.data.documents import read_pairs, read_texts
from worker_client.data.errors import DataError
from worker_client.data.pack import Counts, pack_texts, pad_pairs
from worker_client.data.write import ShardFile, shard_name, write_shard
from worker_client.models.load import load_codec
from worker_client.models.progress import Progress, silent
from worker_client.models.store import ModelStore

LIST_FILE = "shards.json"


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
            write_shard(
                folder / shard_name(number),
                whole[number::shards][:each],
                codec.sha256,
                codec.byte_lengths,
            )
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
