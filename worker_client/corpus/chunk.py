"""Verb: a chunk of raw text into rows of tokens: the job ``on_isle``, rules ``v1``.

The same chunk, tokenizer and languages give the same rows, whoever does it. Each line stands for
itself: whether it is a copy of a line in another chunk, nobody knows here.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from worker_client.contract.recipe import MOST_TOKENS_PER_BYTE
from worker_client.corpus.judge import Kept, judge
from worker_client.corpus.pieces import Piece, lines
from worker_client.corpus.quality import Rules
from worker_client.data.pack import Counts, encode, pack_tokens
from worker_client.data.write import ShardFile, write_shard
from worker_client.models.errors import TokenizerRefused
from worker_client.models.load import TextCodec


@dataclass
class Chunk:
    """``rows``: int32 ``[n, 1, seq]``, n 0 where nothing was kept or it filled no row. ``lines``
    were read, ``kept`` of them used."""

    rows: np.ndarray
    lines: int
    kept: int


def make_rows(
    raw: Path,
    codec: TextCodec,
    seq_len: int,
    languages: tuple[str, ...],
    check: Callable[[], None] = lambda: None,
) -> Chunk:
    """The rows of a file of articles, one a line; ``check`` is called at every line and may raise.

    Raises:
        TokenizerRefused: the tokenizer fails at a text, or makes more of it than it can be.
    """
    seen = Chunk(np.zeros((0, 1, seq_len), np.int32), 0, 0)
    texts = _texts(raw, Rules(languages=languages), seen, check)
    ids = _encoded(texts, codec, MOST_TOKENS_PER_BYTE * raw.stat().st_size)
    pieces = list(pack_tokens(ids, codec.end_of_text, seq_len, Counts()))
    if pieces:
        seen.rows = np.concatenate(pieces)
    return seen


def _texts(raw: Path, rules: Rules, seen: Chunk, check: Callable[[], None]) -> Iterator[str]:
    for line in lines(Piece(raw, 0, raw.stat().st_size)):
        check()
        seen.lines += 1
        verdict = None if line is None else judge(line, rules)
        if isinstance(verdict, Kept):
            seen.kept += 1
            yield verdict.article.text


def _encoded(texts: Iterator[str], codec: TextCodec, most: int) -> Iterator[np.ndarray]:
    tokens = encode(texts, codec)
    while True:
        try:
            ids = next(tokens, None)
        except BaseException as error:
            # tokenizers raises bare Exception, or one that not even Exception catches.
            if type(error) is not Exception and type(error).__name__ != "PanicException":
                raise
            raise TokenizerRefused(f"the tokenizer fails at this text: {error}") from None
        if ids is None:
            return
        most -= len(ids) + 1
        if most < 0:
            raise TokenizerRefused("the tokenizer makes more tokens of this text than it can have")
        yield ids


def write_rows(
    path: Path, chunk: Chunk, codec: TextCodec, more: Mapping[str, str] | None = None
) -> ShardFile:
    return write_shard(path, chunk.rows, codec.sha256, codec.byte_lengths, more)
