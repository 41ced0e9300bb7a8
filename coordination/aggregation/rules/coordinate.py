"""Rules that look at one value of all results at a time (Yin et al. 2018, arXiv 1803.01498)."""

from coordination.aggregation.rules.rule import RanksRule


class Median(RanksRule):
    """Coordinate median; of an even number of results the mean of the middle two."""

    def fewest(self, f: int) -> int:
        return max(3, 2 * f + 1)

    def ranks(self, n: int, f: int) -> tuple[int, int]:
        return (n - 1) // 2, n // 2 + 1


class TrimmedMean(RanksRule):
    """Mean of what is left of each value without its ``f`` smallest and ``f`` largest."""

    def fewest(self, f: int) -> int:
        return max(3, 2 * f + 1)

    def ranks(self, n: int, f: int) -> tuple[int, int]:
        return f, n - f
