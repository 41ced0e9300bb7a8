"""Rules that look at one value of all results at a time (Yin et al. 2018, arXiv 1803.01498)."""

import numpy as np

from coordination.aggregation.rules.ranks import ranks
from coordination.aggregation.rules.rule import CoordinateRule


class Median(CoordinateRule):
    """Coordinate median; of an even number of results the mean of the middle two."""

    def fewest(self, f: int) -> int:
        return max(3, 2 * f + 1)

    def combine(self, rows: np.ndarray, f: int) -> np.ndarray:
        n = len(rows)
        return _mean_of_ranks(rows, (n - 1) // 2, n // 2 + 1)


class TrimmedMean(CoordinateRule):
    """Mean of what is left of each value without its ``f`` smallest and ``f`` largest."""

    def fewest(self, f: int) -> int:
        return max(3, 2 * f + 1)

    def combine(self, rows: np.ndarray, f: int) -> np.ndarray:
        return _mean_of_ranks(rows, f, len(rows) - f)


def _mean_of_ranks(rows: np.ndarray, first: int, last: int) -> np.ndarray:
    """Summed in float64, rounded once. Which of 0.0 and -0.0 comes first depends on the processor,
    so a sum of nothing else is 0.0."""
    chosen = ranks(rows, first, last)
    total = chosen[0].astype(np.float64)
    for row in chosen[1:]:
        total += row
    total /= len(chosen)
    total += 0.0
    return total.astype(np.float32)
