"""Inner products of all updates of a round, in one pass over the files."""

from collections.abc import Sequence

import numpy as np

from coordination.aggregation.vectors import FLOAT32, Rows, VectorFile, slices


def gram_matrix(start: VectorFile, vectors: Sequence[VectorFile]) -> np.ndarray:
    """Inner products of ``vector - start``, float64 ``[n, n]``.

    Slices are multiplied in float32 and summed in float64: of vectors with finite norms every
    entry is right to about 1e-7 of the product of their norms.
    """
    n = len(vectors)
    gram = np.zeros((n, n))
    with Rows([start, *vectors]) as rows:
        buffer = np.empty((n + 1, rows.columns), FLOAT32)
        for begin, end in slices(start.count, rows.columns):
            matrix = rows.read(begin, end, buffer)
            updates = np.subtract(matrix[1:], matrix[0], out=matrix[1:])
            gram += updates @ updates.T
    return gram
