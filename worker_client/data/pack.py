"""From documents to rows of equal length."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from worker_client.contract.recipe import IGNORED_LABEL
from worker_client.data.documents import Pair
from worker_client.models.load import TextCodec

ENCODED_AT_ONCE = 64
ANSWER_SHARE = 4
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
    for rows in pack_tokens(encode(texts, codec), codec.end_of_text, seq_len, counts):
        yield from rows


def pack_tokens(
    documents: Iterable[np.ndarray], end_of_text: int, seq_len: int, counts: Counts
) -> Iterator[np.ndarray]:
    """Rows int32 ``[n, 1, seq]`` cut from the documents' tokens, int32 ``[tokens]`` each."""
    end, rest = np.array([end_of_text], np.int32), np.zeros(0, np.int32)
    for ids in documents:
        counts.documents += 1
        stream = np.concatenate([rest, ids, end])
        whole = len(stream) // seq_len * seq_len
        counts.tokens += whole
        if whole:
            yield stream[:whole].reshape(-1, 1, seq_len)
        rest = stream[whole:]
    counts.dropped_tokens = len(rest)


def encode(texts: Iterable[str], codec: TextCodec) -> Iterator[np.ndarray]:
    """The tokens of each text, int32 ``[tokens]``."""
    source = iter(texts)
    while some := list(islice(source, ENCODED_AT_ONCE)):
        for ids in codec.encode_batch(some):
            yield np.array(ids, np.int32)


def pad_pairs(
    pairs: Iterable[Pair], codec: TextCodec, seq_len: int, counts: Counts
) -> Iterator[np.ndarray]:
    """Rows int32 ``[2, seq]``: input_ids and labels of one pair in the ChatML layout.

    Only the answer and its end are learned; the rest and the padding have label -100. A pair
    longer than ``seq_len`` is cut; one whose answer is cut off entirely, or empty, is skipped.
    """
    for pair in pairs:
        counts.documents += 1
        prompt = encode_prompt(pair, codec, seq_len)
        answer = codec.encode_markup(f"{{}}{END_OF_TURN}", pair.response)
        if len(prompt) >= seq_len or not pair.response:
            counts.skipped += 1
            continue
        counts.truncated += len(prompt) + len(answer) > seq_len
        yield _padded_row(prompt, answer, codec.end_of_text, seq_len)
        counts.tokens += min(seq_len, len(prompt) + len(answer))


def encode_prompt(pair: Pair, codec: TextCodec, seq_len: int) -> list[int]:
    """A pair's tokens up to where its answer begins.

    Its matter is cut so far that a quarter of ``seq_len`` is left for the answer: by the same rule
    in training and afterwards, when the answer's length is not known.
    """
    before = codec.encode_markup(f"{USER}{{}}", pair.prompt)
    after = codec.encode_markup(f"{{}}{END_OF_TURN}{ASSISTANT}", "")
    room = seq_len - seq_len // ANSWER_SHARE - len(before) - len(after)
    return before + codec.encode(pair.matter)[: max(0, room)] + after


def _padded_row(prompt: list[int], answer: list[int], padding: int, seq_len: int) -> np.ndarray:
    row = np.full((2, seq_len), padding, np.int32)
    row[1] = IGNORED_LABEL
    ids = (prompt + answer)[:seq_len]
    row[0, : len(ids)] = ids
    row[1, len(prompt) : len(ids)] = ids[len(prompt) :]
    return row
