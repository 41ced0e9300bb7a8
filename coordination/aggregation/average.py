"""The merged vector of a round's results by any rule, slice by slice.

A rule that gives shares needs one pass over the files for the Gram matrix, if it uses one, and
one for the weighted sum; a coordinate rule needs one pass. Memory grows neither with the
vectors nor with the results: the buffer is split among them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from coordination.aggregation.gram import gram_matrix
from coordination.aggregation.passes import over_slices
from coordination.aggregation.rules import Choice, CoordinateRule, SharesRule
from coordination.aggregation.rules.distance import clip_factors, steady
from coordination.aggregation.vectors import FLOAT32, Slice, VectorFile, squared_distance


@dataclass(frozen=True)
class Contribution:
    """One result that takes part.

    Args:
        vector: its weights.
        weight: > 0, relative to the others': trust, tokens. Rules that cannot weigh ignore it.
        norm: L2 norm of its update if somebody has measured it already.
        trusted: not one of those that may be hostile, since it was repeated and found right, or
            its worker has long been.
    """

    vector: VectorFile
    weight: float = 1.0
    norm: float | None = None
    trusted: bool = False


@dataclass(frozen=True)
class Average:
    """How results are to be combined: ``factors`` clip the updates; ``shares`` sum up what is
    left of them, or are None where the rule works value by value."""

    choice: Choice
    factors: np.ndarray
    shares: np.ndarray | None

    @property
    def merged_shares(self) -> np.ndarray | None:
        """How much of each update is merged, clipping included."""
        return None if self.shares is None else self.shares * self.factors


def plan_average(
    start: VectorFile, results: Sequence[Contribution], choice: Choice, clip: bool
) -> Average:
    """Measure what the rule needs to know. ``clip`` limits every update's L2 norm to the
    median one before the rule sees it."""
    rule, gram = choice.rule, np.empty((0, 0))
    if isinstance(rule, SharesRule) and rule.needs_gram:
        gram = gram_matrix(start, [result.vector for result in results])
    factors = _clip_to_median(start, results, gram) if clip else np.ones(len(results))
    if not isinstance(rule, SharesRule):
        return Average(choice, factors, None)
    weights = np.array([result.weight for result in results], np.float64)
    if gram.size:
        gram = gram * np.outer(factors, factors)
    return Average(choice, factors, rule.shares(gram, weights / weights.sum(), choice.f))


def _clip_to_median(
    start: VectorFile, results: Sequence[Contribution], gram: np.ndarray
) -> np.ndarray:
    measured = [result.norm for result in results if result.norm is not None]
    if len(measured) == len(results):
        norms = np.array(measured)
    elif gram.size:
        norms = np.sqrt(np.diag(gram))
    else:
        norms = _measure_norms(start, [result.vector for result in results])
    return steady(clip_factors(norms, float(np.median(norms))))


def _measure_norms(start: VectorFile, vectors: Sequence[VectorFile]) -> np.ndarray:
    def squares(begin: int, end: int, rows: np.ndarray) -> np.ndarray:
        return np.array([squared_distance(row, rows[0]) for row in rows[1:]])

    return np.sqrt(sum(over_slices([start, *vectors], squares), np.zeros(len(vectors))))


def averages(
    start: VectorFile, results: Sequence[Contribution], average: Average
) -> Iterator[Slice]:
    """The merged vector, in slices; each is valid until the next is asked for."""
    vectors = [result.vector for result in results]
    if average.merged_shares is None:
        return _by_coordinate(start, vectors, average)
    return _by_shares(start, vectors, average.merged_shares)


def _by_coordinate(
    start: VectorFile, vectors: Sequence[VectorFile], average: Average
) -> Iterator[Slice]:
    rule, f = average.choice.rule, average.choice.f
    assert isinstance(rule, CoordinateRule)

    def combine(begin: int, end: int, rows: np.ndarray) -> Slice:
        _clip(rows[0], rows[1:], average.factors)
        return Slice(begin, end, rows[0], rule.combine(rows[1:], f))

    return over_slices([start, *vectors], combine)


def _clip(origin: np.ndarray, matrix: np.ndarray, factors: np.ndarray) -> None:
    for row in np.flatnonzero(factors != 1):
        line = matrix[row]
        line -= origin
        line *= np.float32(factors[row])
        line += origin


def _by_shares(
    start: VectorFile, vectors: Sequence[VectorFile], shares: np.ndarray
) -> Iterator[Slice]:
    """``start + sum(shares * updates)``; results without a share are not read."""
    used = np.flatnonzero(shares)

    def combine(begin: int, end: int, rows: np.ndarray) -> Slice:
        return Slice(begin, end, rows[0], weighted_sum(rows, shares[used]))

    return over_slices([start, *(vectors[int(i)] for i in used)], combine)


def weighted_sum(matrix: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Row 0 is the origin, the others are moved from it by ``shares``: summed in float64 in
    their order, rounded to float32 once. Equal shares of 1 in all are a plain mean."""
    n = len(shares)
    if n and np.all(shares == shares[0]) and abs(n * shares[0] - 1) < 1e-12:
        return (np.add.reduce(matrix[1:], axis=0, dtype=np.float64) / n).astype(FLOAT32)
    total = np.multiply(matrix[0], 1 - shares.sum(), dtype=np.float64)
    scaled = np.empty_like(total)
    for share, row in zip(shares, matrix[1:], strict=True):
        total += np.multiply(row, share, out=scaled, dtype=np.float64)
    return total.astype(FLOAT32)
