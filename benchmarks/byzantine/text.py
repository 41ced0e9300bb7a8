"""Ten languages of real text that is on every machine: the translations of installed packages.

Two ways to give them to ten volunteers: every shard a mixture of all languages, or one language
per shard. What the base model saw and what is held out are the same for both.
"""

import hashlib
from dataclasses import dataclass

import numpy as np

from modelen_site.demo import catalogues

# Two of them in scripts of their own, whose bytes no other shard has when shards are languages.
LANGUAGES = ("tr", "de", "fr", "es", "it", "pl", "fi", "hu", "ru", "el")
LEAST_BYTES = 20  # shorter ones are labels
ONE_IN = 10  # messages held out, and as many again for the base model
SEQ_LEN = 32  # bytes
HELD_OUT_ROWS = 320


@dataclass(frozen=True)
class Corpus:
    """Rows of byte ids, int64 ``[n, SEQ_LEN]``: for the base model, each shard, held out."""

    base: np.ndarray
    shards: list[np.ndarray]
    held_out: np.ndarray


def read_corpus(shards: int, one_language_each: bool) -> Corpus:
    """The text for ``shards`` volunteers.

    Raises:
        ValueError: each shard shall be one language, but there are not as many.
    """
    if one_language_each and shards != len(LANGUAGES):
        raise ValueError(f"{shards} shards cannot be one language each of {len(LANGUAGES)}")
    english, languages = _read_all()
    train = [_rest(messages) for messages in languages]
    parts = train if one_language_each else _deal(train, shards)
    base = english + [text for messages in languages for text in messages[1::ONE_IN]]
    held_out = np.concatenate([_rows(messages[::ONE_IN]) for messages in languages])
    step = len(held_out) // HELD_OUT_ROWS
    return Corpus(_rows(base), [_rows(part) for part in parts], held_out[::step])


def _read_all() -> tuple[list[str], list[list[str]]]:
    """The messages in English and in every language, in an order that says nothing."""
    pairs = [catalogues.read_all(language) for language in LANGUAGES]
    english = {pair.english for found in pairs for pair in found}
    return _by_digest(english), [_by_digest({p.translation for p in found}) for found in pairs]


def _rest(messages: list[str]) -> list[str]:
    """What is neither held out nor the base model's."""
    return [text for number, text in enumerate(messages) if number % ONE_IN > 1]


def _deal(languages: list[list[str]], shards: int) -> list[list[str]]:
    """Every language dealt out like cards, so that all shards are like mixtures."""
    return [
        _by_digest({text for messages in languages for text in messages[shard::shards]})
        for shard in range(shards)
    ]


def _by_digest(texts: set[str]) -> list[str]:
    sentences = (text for text in texts if _is_sentence(text))
    return sorted(sentences, key=lambda text: hashlib.sha256(text.encode()).digest())


def _is_sentence(text: str) -> bool:
    return len(text.encode()) >= LEAST_BYTES and not catalogues.MARKUP.search(text)


def _rows(messages: list[str]) -> np.ndarray:
    """Messages one after the other, cut into rows; the last bytes are dropped."""
    raw = np.frombuffer("\n".join(messages).encode(), np.uint8).astype(np.int64)
    return raw[: len(raw) // SEQ_LEN * SEQ_LEN].reshape(-1, SEQ_LEN)
