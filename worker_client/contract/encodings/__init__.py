"""Compressed deltas: how a worker sends ``trained - snapshot`` in a fraction of the bytes.

An encoding is chosen by its id and fixed by this code: layout, block size, rounding. Each works
on chunks of ``CHUNK`` values that know nothing of each other, and a chunk's size follows from its
length alone, so that a file of any size is written and read in bounded memory, and a hostile one
can neither be larger nor smaller than arithmetic says.
"""

from collections.abc import Mapping
from importlib.util import find_spec
from types import MappingProxyType
from typing import Protocol

import numpy as np

from worker_client.contract.encodings.blocks import Bf16, Int4, Int8
from worker_client.contract.encodings.topk import TopK

CHUNK = 65_536  # values; 256 KiB of float32 stay in a processor's second cache


class Codec(Protocol):
    """Bytes of one chunk. ``values`` are finite float32 ``[n]``, ``1 <= n <= CHUNK``."""

    id: str
    # Whether the sender keeps what is left out and adds it to its next delta: then the result
    # depends on more than its task, and nobody else can repeat it.
    feeds_back: bool

    def size(self, count: int) -> int:
        """Bytes that ``count`` values of one chunk take."""

    def encode(self, values: np.ndarray) -> np.ndarray:
        """uint8 ``[size(n)]``."""

    def decode(self, data: np.ndarray, out: np.ndarray) -> None:
        """Fill float32 ``out [n]`` from uint8 ``[size(n)]``; what encoding made comes out within
        the encoding's error, and anything else finite or not, but never out of bounds.

        Raises:
            ValueError: no encoder makes such bytes.
        """


def _all() -> tuple[Codec, ...]:
    """Compiled where llvmlite is installed: the server demands it, the worker's program does
    without."""
    if find_spec("llvmlite") is None:
        return Bf16(), Int8(), Int4(), TopK()
    from worker_client.contract.encodings.compiled import CompiledBf16, CompiledBlocks

    return CompiledBf16(), CompiledBlocks(Int8()), CompiledBlocks(Int4()), TopK()


CODECS: Mapping[str, Codec] = MappingProxyType({codec.id: codec for codec in _all()})


def encoded_bytes(codec: Codec, count: int) -> int:
    """Bytes of ``count`` values in chunks."""
    whole, rest = divmod(count, CHUNK)
    return whole * codec.size(CHUNK) + (codec.size(rest) if rest else 0)
