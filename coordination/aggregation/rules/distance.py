"""Rules that judge whole updates by their distances, all of them from one Gram matrix.

With updates ``d_i``, ``gram[i, j] = <d_i, d_j>``, and a centre ``v = sum(a_i d_i)`` the squared
distance of ``d_i`` to ``v`` is ``gram[i, i] - 2 (gram a)_i + a' gram a``: no rule here ever
looks at the vectors again, whatever their length and however many steps it takes.
"""

from dataclasses import dataclass

import numpy as np

from coordination.aggregation.rules.rule import SharesRule


class Krum(SharesRule):
    """The one update that is nearest to its ``n - f - 1`` nearest others.

    Blanchard et al. 2017 (arXiv 1703.02757), with the neighbours counted as Farhadkhani et
    al. 2022 (arXiv 2205.12173) do: an honest update has so many honest others.
    """

    def fewest(self, f: int) -> int:
        return 2 * f + 3

    def shares(self, gram: np.ndarray, weights: np.ndarray, f: int) -> np.ndarray:
        return _only(krum_order(gram, f)[:1], weights)


class MultiKrum(Krum):
    """The weighted mean of the ``n - f`` updates that Krum likes best."""

    def shares(self, gram: np.ndarray, weights: np.ndarray, f: int) -> np.ndarray:
        return _only(krum_order(gram, f)[: len(gram) - f], weights)


def krum_order(gram: np.ndarray, f: int) -> np.ndarray:
    """Indices of the updates, best first; the earlier of two equals comes first."""
    squared = squared_distances(gram)
    np.fill_diagonal(squared, -1.0)  # itself first, whatever rounding makes of the others
    nearest = np.sort(squared, axis=1)[:, 1 : len(gram) - f]
    return np.argsort(nearest.sum(axis=1), kind="stable")


def squared_distances(gram: np.ndarray) -> np.ndarray:
    """Between every two updates, float64 ``[n, n]``, >= 0."""
    squares = np.diag(gram)
    return np.maximum(squares[:, None] + squares[None, :] - 2 * gram, 0.0)


def _only(chosen: np.ndarray, weights: np.ndarray) -> np.ndarray:
    shares = np.zeros_like(weights)
    shares[chosen] = weights[chosen]
    return shares / shares.sum()


@dataclass(frozen=True)
class GeometricMedian(SharesRule):
    """The point with the smallest weighted sum of distances to the updates.

    Smoothed Weiszfeld iteration (Pillutla et al. 2022, arXiv 1912.13445) from the start of the
    round, until no share moves by more than ``tolerance``.

    Args:
        smoothing: distances are taken as this at least; a fraction of the median norm.
        iterations: most steps.
    """

    smoothing: float = 1e-4
    iterations: int = 200
    tolerance: float = 1e-9

    def fewest(self, f: int) -> int:
        return max(3, 2 * f + 1)

    def shares(self, gram: np.ndarray, weights: np.ndarray, f: int) -> np.ndarray:
        nearest = self.smoothing * np.median(np.sqrt(np.diag(gram))) or 1.0
        shares = np.zeros(len(gram))
        for _ in range(self.iterations):
            pull = weights / np.maximum(distances_to(gram, shares), nearest)
            before, shares = shares, pull / pull.sum()
            if np.abs(shares - before).max() <= self.tolerance:
                break
        return steady(shares)


@dataclass(frozen=True)
class CenteredClipping(SharesRule):
    """Steps from the round's start to the mean of updates that are clipped around where it is.

    Karimireddy et al. 2021 (arXiv 2012.10333).

    Args:
        radius: L2 norm that what lies between centre and update is clipped to; None takes the
            median distance in every step, so that half of the updates are clipped.
        steps: how many.
    """

    radius: float | None = None
    steps: int = 5

    def fewest(self, f: int) -> int:
        return max(3, 2 * f + 1)

    def shares(self, gram: np.ndarray, weights: np.ndarray, f: int) -> np.ndarray:
        shares = np.zeros(len(gram))
        for _ in range(self.steps):
            distances = distances_to(gram, shares)
            radius = np.median(distances) if self.radius is None else self.radius
            pull = weights * clip_factors(distances, float(radius))
            shares = shares * (1 - pull.sum()) + pull
        return steady(shares)


def distances_to(gram: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """L2 distance of each update to the sum of all in ``shares``, float64 ``[n]``."""
    products = gram @ shares
    return np.sqrt(np.maximum(np.diag(gram) - 2 * products + shares @ products, 0.0))


def steady(values: np.ndarray) -> np.ndarray:
    """Rounded to float32: a matrix product may differ in its last bits from machine to machine
    or with the number of threads, and what is merged with its help must not."""
    return values.astype(np.float32).astype(np.float64)


def clip_factors(norms: np.ndarray, limit: float) -> np.ndarray:
    """By what each vector is multiplied so that its norm is at most ``limit``."""
    return np.divide(limit, norms, out=np.ones_like(norms), where=norms > limit)
