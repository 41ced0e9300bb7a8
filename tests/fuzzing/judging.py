"""A judge of result files: the ``safetensors`` library, numpy and the protocol's own words.

Shares no code with what it judges.
"""

import json
import re
import struct
from math import inf, sqrt

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load

from tests.fuzzing.decoding import NotDecodable, decode
from worker_client.contract.formats import Format

# Norms so near the limit that the order of the sum decides.
NEAR = 1e-9


def judge(body: bytes, fmt: Format, start: np.ndarray, norm_limit: float) -> np.ndarray | None:
    """The float32 vector in manifest order if ``body`` is a valid result, else None."""
    tensors = _load(body)
    if tensors is None or not _as_strict_as_we(body):
        return None
    if set(tensors) != {spec.name for spec in fmt.tensors}:
        return None
    for spec in fmt.tensors:
        found = tensors[spec.name]
        if found.dtype != np.float32 or found.shape != spec.shape:
            return None
    vector = np.concatenate([tensors[spec.name].ravel() for spec in fmt.tensors])
    if not np.isfinite(vector).all():
        return None
    return vector if update_norm(vector, start) <= norm_limit else None


def judge_delta(
    body: bytes, encoding: str, start: np.ndarray, norm_limit: float
) -> np.ndarray | None:
    """The same for a result that holds an encoded delta from ``start``."""
    tensors = _load(body)
    if tensors is None or not _as_strict_as_we(body) or set(tensors) != {"delta"}:
        return None
    delta = tensors["delta"]
    if (
        delta.dtype != np.uint8
        or delta.ndim != 1
        or _metadata(body).get("kodlama", encoding) != encoding
    ):
        return None
    try:
        decoded = decode(encoding, delta.tobytes(), len(start))
    except NotDecodable:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        vector = start + np.array(decoded, np.float32)
    if not np.isfinite(vector).all():
        return None
    return vector if update_norm(vector, start) <= norm_limit else None


def are_rows(body: bytes, seq: int, vocabulary: int, most_tokens: int, tokenizer: str) -> bool:
    """Whether ``body`` holds the rows of a text, and says of them what it has to say."""
    tensors = _load(body)
    if tensors is None or not _as_strict_as_we(body) or set(tensors) != {"input_ids"}:
        return False
    ids, told = tensors["input_ids"], _metadata(body)
    if ids.dtype != np.int32 or ids.ndim != 2 or ids.shape[1] != seq or ids.size > most_tokens:
        return False
    if ids.size and not (0 <= ids.min() and ids.max() < vocabulary):
        return False
    said = told.get("belirtec_sha256"), told.get("token")
    counted = re.fullmatch("[0-9]+", told.get("bayt", "")) is not None
    return counted and said == (tokenizer, str(ids.shape[0] * (seq - 1)))


def rows_of(body: bytes) -> np.ndarray:
    """The rows in a body that ``are_rows``."""
    return load(body)["input_ids"]


def _metadata(body: bytes) -> dict[str, str]:
    (length,) = struct.unpack("<Q", body[:8])
    return json.loads(body[8 : 8 + length]).get("__metadata__", {})


def update_norm(vector: np.ndarray, start: np.ndarray) -> float:
    return sqrt(sum((float(a) - float(b)) ** 2 for a, b in zip(vector, start, strict=True)))


def is_near(body: bytes, fmt: Format, start: np.ndarray, norm_limit: float) -> bool:
    """Whether rounding alone could decide about ``body``."""
    vector = judge(body, fmt, start, inf)
    if vector is None:
        return False
    return abs(update_norm(vector, start) - norm_limit) <= NEAR * norm_limit


def _load(body: bytes) -> dict[str, np.ndarray] | None:
    try:
        return load(body)
    except (SafetensorError, KeyError, ValueError, TypeError, AttributeError, OverflowError):
        # Beyond its own error, the library's numpy side fails at dtypes that numpy lacks.
        return None


def _as_strict_as_we(body: bytes) -> bool:
    """What the protocol or the format's description forbids and the library lets pass: a header
    above 1 MiB or with something before its brace, a name twice, members beyond the three,
    metadata that is no map."""
    (length,) = struct.unpack("<Q", body[:8])
    if length > 2**20 or body[8:9] != b"{":
        return False
    twice: list[str] = []

    def members(pairs: list[tuple[str, object]]) -> dict[str, object]:
        names = [name for name, _ in pairs]
        twice.extend(name for name in set(names) if names.count(name) > 1)
        return dict(pairs)

    header = json.loads(body[8 : 8 + length], object_pairs_hook=members)
    if twice or not isinstance(header.pop("__metadata__", {}), dict):
        return False
    return all(set(entry) == {"dtype", "shape", "data_offsets"} for entry in header.values())
