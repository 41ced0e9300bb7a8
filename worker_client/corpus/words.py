"""Tokens of texts word by word, each word encoded once: texts repeat theirs.

For the tokenizers that ``corpus tokenizer`` makes this gives the library's tokens in a fraction of
its time, most of which goes into cutting texts into words.
"""

import json
from collections.abc import Iterable, Iterator
from itertools import chain
from unicodedata import ucd_3_2_0

import numpy as np
import regex

from worker_client.models.load import TextCodec

PRE_TOKENIZER = {
    "type": "Sequence",
    "pretokenizers": [
        {"type": "Digits", "individual_digits": True},
        {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
    ],
}
# GPT-2's words, as ``ByteLevel`` cuts what ``Digits`` leaves between two digits.
WORD = regex.compile(
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?[^\s\p{L}\p{N}]+|\s+(?![^\s\p{N}])|\s+|\p{N}"
)
# Some 30 MB of words that several languages use every day. Longer ones, as of scripts without
# blanks, hardly come again.
MOST_WORDS, LONGEST = 2**17, 24


class Words:
    """Tokens of words seen before. ``codec``: one that ``can_cut``."""

    def __init__(self, codec: TextCodec) -> None:
        self._codec = codec
        self._known: dict[str, list[int]] = {}

    def encode_all(self, texts: Iterable[str]) -> Iterator[np.ndarray]:
        """The tokens of each text, int32 ``[tokens]``."""
        for text in texts:
            yield np.array(self.encode(text), np.int32)

    def encode(self, text: str) -> list[int]:
        """What the codec makes of it."""
        words, known = WORD.findall(text), self._known
        if len(known) > MOST_WORDS:
            known.clear()
        new = list(set(words).difference(known))
        if not is_old("".join(new)):
            return self._codec.encode(text)
        known.update(zip(new, self._codec.encode_batch(new), strict=True))
        ids = list(chain.from_iterable(map(known.__getitem__, words)))
        for word in new:
            if len(word) > LONGEST:
                del known[word]
        return ids


def is_old(text: str) -> bool:
    """Whether all its characters are of Unicode 3.2: of younger ones, libraries of different age
    think differently."""
    return all(ucd_3_2_0.category(character) != "Cn" for character in set(text))


def can_cut(codec: TextCodec) -> bool:
    """Whether ``WORD`` cuts as this tokenizer does, and nothing else happens to its words."""
    told = json.loads(codec.tokenizer.to_str())
    return (
        told["pre_tokenizer"] == PRE_TOKENIZER
        and not any(told[part] for part in ("normalizer", "post_processor"))
        and not any(told[part] for part in ("truncation", "padding"))
        and all(token["special"] for token in told["added_tokens"])
        and told["model"]["type"] == "BPE"
        and not told["model"]["dropout"]
    )
