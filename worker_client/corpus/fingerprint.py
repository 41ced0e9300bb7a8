"""What two texts have in common, measured by MinHash signatures (library ``rensa``).

A. Broder, On the resemblance and containment of documents, 1997. Signatures are cut into bands:
texts that agree in all rows of a band are candidates (Leskovec, Rajaraman, Ullman, Mining of
Massive Datasets, chapter 3).
"""

import hashlib
import re
from dataclasses import dataclass

import numpy as np

SHINGLE_WORDS = 5
HASHES, ROWS = 128, 8
SEED = 1
# Scripts without blanks between words: each character counts as one.
_WORD = re.compile(r"[\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]|\w+")


@dataclass(frozen=True)
class Fingerprint:
    """``digest``: 16 bytes of SHA-256 of the text's words; ``signature``: uint32 ``[HASHES]``;
    ``bands``: a signed 64-bit number for each band of ``ROWS`` rows."""

    digest: bytes
    signature: bytes
    bands: tuple[int, ...]


def words(text: str) -> list[str]:
    """Words without case and punctuation."""
    return _WORD.findall(text.casefold())


def shingles(found: list[str]) -> list[str]:
    """Runs of ``SHINGLE_WORDS`` words, or all of a shorter text."""
    last = max(1, len(found) - SHINGLE_WORDS + 1)
    return [" ".join(found[i : i + SHINGLE_WORDS]) for i in range(last)]


def fingerprint(found: list[str], parts: list[str]) -> Fingerprint:
    """Of a text's ``words`` and ``shingles``."""
    from rensa import RMinHash

    sketch = RMinHash(num_perm=HASHES, seed=SEED)
    sketch.update(parts)
    signature = np.array(sketch.digest(), "<u4")
    digest = hashlib.sha256(" ".join(found).encode()).digest()[:16]
    return Fingerprint(digest, signature.tobytes(), _bands(signature))


def _bands(signature: np.ndarray) -> tuple[int, ...]:
    keys = (
        hashlib.blake2b(rows.tobytes(), digest_size=8, salt=number.to_bytes(2, "little"))
        for number, rows in enumerate(signature.reshape(-1, ROWS))
    )
    return tuple(int.from_bytes(key.digest(), "little", signed=True) for key in keys)


def similarity(one: bytes, other: bytes) -> float:
    """Estimated Jaccard similarity of the shingles behind two signatures."""
    return float(np.mean(np.frombuffer(one, "<u4") == np.frombuffer(other, "<u4")))
