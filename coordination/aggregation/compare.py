"""How far a repeated result lies from the one it repeats."""

from dataclasses import dataclass
from math import sqrt

import numpy as np

from coordination.aggregation.vectors import FLOAT32, SLICE_FLOATS, VectorFile, slices


@dataclass(frozen=True)
class Distance:
    """Two updates (result minus start) against each other.

    ``relative`` is ‖repeated − author‖ / ‖author‖, L2 norms: 0 for the same bytes, about 1.4 for
    unrelated updates of like length, infinite when the author's update is zero and the other is
    not. ``cosine`` is the cosine of the angle between them, 0 when either is zero.
    """

    relative: float
    cosine: float


def compare(start: VectorFile, author: VectorFile, repeated: VectorFile) -> Distance:
    """Compare the updates of ``author`` and ``repeated`` from ``start``, summed in float64.

    All vectors have one length; memory stays at a few slices.

    Raises:
        ValueError: vectors of different lengths.
    """
    if not start.count == author.count == repeated.count:
        raise ValueError(f"{start.count}, {author.count} and {repeated.count} values differ")
    sums = np.zeros(4)
    buffers = np.empty((3, SLICE_FLOATS), FLOAT32)
    for begin, end in slices(start.count):
        w, a, b = (
            vector.read(begin, end, buffer).astype(np.float64)
            for vector, buffer in zip((start, author, repeated), buffers, strict=True)
        )
        a, b = a - w, b - w
        sums += (a @ a, b @ b, a @ b, (b - a) @ (b - a))
    return _distance(*map(float, sums))


def _distance(aa: float, bb: float, ab: float, difference: float) -> Distance:
    if not aa:
        return Distance(relative=float("inf") if bb else 0.0, cosine=0.0)
    cosine = ab / sqrt(aa * bb) if bb else 0.0
    return Distance(relative=sqrt(difference / aa), cosine=max(-1.0, min(1.0, cosine)))
