"""Inner products of all updates of a round, in one pass over the files."""

from collections.abc import Sequence

import numpy as np

from coordination.aggregation.passes import over_slices
from coordination.aggregation.vectors import VectorFile


def gram_matrix(start: VectorFile, vectors: Sequence[VectorFile]) -> np.ndarray:
    """Inner products of ``vector - start``, float64 ``[n, n]``.

    Slices are multiplied in float32 and summed in float64: of vectors with finite norms every
    entry is right to about 1e-7 of the product of their norms.
    """

    def products(begin: int, end: int, rows: np.ndarray) -> np.ndarray:
        updates = np.subtract(rows[1:], rows[0], out=rows[1:])
        return updates @ updates.T

    n = len(vectors)
    return sum(over_slices([start, *vectors], products), np.zeros((n, n)))
