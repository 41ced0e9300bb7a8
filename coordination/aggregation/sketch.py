"""A small random picture of an update, made while its file is checked.

A count sketch (Charikar, Chen and Farach-Colton 2002): every value is added, with a random
sign, to one of ``SKETCH_FLOATS`` places. Inner products and distances of sketches are those of
the vectors, in the mean exactly, with a standard error of about 1/64 of the product of the
norms; of two vectors that lie near each other the distance is as precise as of others. So a
round's updates are compared without reading them again.

Signs and places follow from a secret: who knew them could hide an update from its sketch.
"""

import hashlib

import numpy as np

SKETCH_FLOATS = 4096
TABLE_FLOATS = 32 * SKETCH_FLOATS


class Sketcher:
    """Adds up the sketch of one update that comes in pieces.

    The same key and the same lengths of pieces make sketches that can be compared.
    """

    def __init__(self, key: bytes) -> None:
        seed = int.from_bytes(hashlib.sha256(key).digest()[:16])
        self._random = np.random.PCG64(seed)
        bits = self._random.random_raw(TABLE_FLOATS // 64).view(np.uint8)
        self._signs = np.unpackbits(bits).astype(np.float32) * 2 - 1
        self._sum = np.zeros(SKETCH_FLOATS, np.float64)
        self._products = np.empty(TABLE_FLOATS, np.float32)

    def add(self, piece: np.ndarray) -> None:
        """Add the next float32 values of the update, at most ``TABLE_FLOATS``.

        All pieces share one table of signs; a sign and a rotation of each piece's own keep two
        values that meet in the table apart.
        """
        drawn = int(self._random.random_raw())
        signed = np.multiply(piece, self._signs[: len(piece)], out=self._products[: len(piece)])
        whole = len(piece) // SKETCH_FLOATS * SKETCH_FLOATS
        places = signed[:whole].reshape(-1, SKETCH_FLOATS).sum(axis=0, dtype=np.float64)
        places[: len(piece) - whole] += signed[whole:]
        turned = np.roll(places, drawn >> 1 & SKETCH_FLOATS - 1)
        self._sum += turned if drawn & 1 else -turned

    def finish(self) -> np.ndarray:
        """The sketch, float32 ``[SKETCH_FLOATS]``."""
        return self._sum.astype("<f4")
