"""What a merging rule is: it chooses shares of the results, or combines them value by value."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import floor

import numpy as np


@dataclass(frozen=True)
class Rule(ABC):
    """``by_tokens``: results are to be weighted by the tokens they trained on."""

    name: str
    by_tokens: bool = False

    def fewest(self, f: int) -> int:
        """Of how many results at least, ``f`` of them hostile, the rule means anything."""
        return 1


class SharesRule(Rule):
    """The merged update is a weighted sum of the results' updates."""

    needs_gram: bool = True

    @abstractmethod
    def shares(self, gram: np.ndarray, weights: np.ndarray, f: int) -> np.ndarray:
        """Shares ``[n]`` of the results, float64, each >= 0 and together at most 1.

        Args:
            gram: inner products of the updates, float64 ``[n, n]``; empty if not needed.
            weights: positive, sum 1.
            f: results that may be hostile.
        """


class RanksRule(Rule):
    """Every value of the merged vector is the mean of some of the results' values in the same
    place, chosen by their order."""

    @abstractmethod
    def ranks(self, n: int, f: int) -> tuple[int, int]:
        """First and last (exclusive) of the ranks, 0 the smallest, that are averaged."""


def hostile(n: int, share: float) -> int:
    """How many of ``n`` results a rule is to survive when a ``share`` below one half may be
    hostile: at least one, unless there are none or the share is 0."""
    return max(1, floor(share * n + 1e-9)) if n and share else 0
