"""From documents to rows of equal length."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from worker_client.contract.recipe import IGNORED_LABEL
from worker_client.data.documents import Pair
from worker_client.models.load import TextCodec

ENCODED_AT_ONCE = 64
USER, ASSISTANT, END_OF_TURN = "<|im_start|>user\n", "<|im_start|>assistant\n", "<|im_end|>\n"


@dataclass
class Counts:
    """What went in and what was left out; ``dropped_tokens`` did not fill a row (cpt)."""

    documents: int = 0
    tokens: int = 0
    dropped_tokens: int = 0
    truncated: int = 0
    skipped: int = 0


def pack_texts(
    texts: Iterable[str], codec: TextCodec, seq_len: int, counts: Counts
) -> Iterator[np.ndarray]:
    """Rows int32 ``[1, seq]`` cut from one stream of tokens, each document ended by its token."""
    buffer: list[int] = []
    for ids in _encode(texts, codec):
        counts.documents += 1
        buffer += [*ids, codec.end_of_text]
        whole = len(buffer) // seq_len * seq_len
        counts.tokens += whole
        for start in range(0, whole, seq_len):
            yield np.array([buffer[start : start + seq_len]], np.int32)
        del buffer[:whole]
    counts.dropped_tokens = len(buffer)


def _encode(texts: Iterable[str], codec: TextCodec) -> Iterator[list[int]]:
    source = iter(texts)
    while some := list(islice(source, ENCODED_AT_ONCE)):
        yield from codec.encode_batch(some)


def pad_pairs(
    pairs: Iterable[Pair], codec: TextCodec, seq_len: int, counts: Counts
) -> Iterator[np.ndarray]:
    """Rows int32 ``[2, seq]``: input_ids and labels of one pair in the ChatML layout.

    Only the answer and its end are learned; the rest and the padding have label -100. A pair
    longer than ``seq_len`` is cut; one whose answer is cut off entirely is skipped.
    """
    for pair in pairs:
        counts.documents += 1
        prompt = codec.encode_markup(f"{USER}{{}}{END_OF_TURN}{ASSISTANT}", pair.prompt)
        answer = codec.encode_markup(f"{{}}{END_OF_TURN}", pair.response)
        if len(prompt) >= seq_len:
            counts.skipped += 1
            continue
        counts.truncated += len(prompt) + len(answer) > seq_len
        yield _padded_row(prompt, answer, codec.end_of_text, seq_len)
        counts.tokens += min(seq_len, len(prompt) + len(answer))


def _padded_row(prompt: list[int], answer: list[int], padding: int, seq_len: int) -> np.ndarray:
    row = np.full((2, seq_len), padding, np.int32)
    row[1] = IGNORED_LABEL
    ids = (prompt + answer)[:seq_len]
    row[0, : len(ids)] = ids
    row[1, len(prompt) : len(ids)] = ids[len(prompt) :]
    return row
