"""The merged vector of a round's results by any rule, slice by slice.

A rule that gives shares needs one pass over the files for the Gram matrix, if it uses one, and
one for the weighted sum; a coordinate rule needs one pass. Memory grows neither with the
vectors nor with the results: the buffer is split among them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from coordination.aggregation.gram import gram_matrix
from coordination.aggregation.passes import READ_FLOATS, Piece, over_slices
from coordination.aggregation.rules import Choice, RanksRule, SharesRule
from coordination.aggregation.rules.distance import clip_factors, steady
from coordination.aggregation.rules.ranks import NETWORK_ROWS, mean_of_ranks, mean_of_sorted
from coordination.aggregation.sums import squared_distance, weighted_sum
from coordination.aggregation.vectors import FLOAT32, Slice, VectorFile
from worker_client.contract.native import LANES, Function


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
    def ranks(self) -> tuple[int, int]:
        """First and last (exclusive) rank that a rule of ranks averages."""
        assert isinstance(self.choice.rule, RanksRule)
        return self.choice.rule.ranks(len(self.factors), self.choice.f)

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
    def squares(piece: Piece) -> np.ndarray:
        found = np.zeros(len(vectors))
        for _, rows in piece.blocks():
            found += [squared_distance(row, rows[0]) for row in rows[1:]]
        return found

    passes = over_slices([start, *vectors], squares, READ_FLOATS)
    return np.sqrt(sum(passes, np.zeros(len(vectors))))


def averages(
    start: VectorFile, results: Sequence[Contribution], average: Average
) -> Iterator[Slice]:
    """The merged vector, in slices."""
    vectors = [result.vector for result in results]
    if average.merged_shares is not None:
        return _by_shares(start, vectors, average.merged_shares)
    if len(vectors) <= NETWORK_ROWS:
        return _by_network(start, vectors, average)
    return _by_sorting(start, vectors, average)


def _by_network(
    start: VectorFile, vectors: Sequence[VectorFile], average: Average
) -> Iterator[Slice]:
    factors = np.array([1, *average.factors], FLOAT32)
    kernel = mean_of_ranks(len(vectors), *average.ranks)
    return _swept([start, *vectors], kernel, factors)


def _by_sorting(
    start: VectorFile, vectors: Sequence[VectorFile], average: Average
) -> Iterator[Slice]:
    def one(piece: Piece) -> Slice:
        origin, merged = np.empty((2, piece.end - piece.begin), FLOAT32)
        for columns, rows in piece.blocks():
            origin[columns] = rows[0]
            _clip(rows[0], rows[1:], average.factors)
            merged[columns] = mean_of_sorted(rows[1:], *average.ranks)
        return Slice(piece.begin, piece.end, origin, merged)

    return over_slices([start, *vectors], one, READ_FLOATS)


def _clip(origin: np.ndarray, matrix: np.ndarray, factors: np.ndarray) -> None:
    for row in np.flatnonzero(factors != 1):
        line = matrix[row]
        line -= origin
        line *= np.float32(factors[row])
        line += origin


def _by_shares(
    start: VectorFile, vectors: Sequence[VectorFile], shares: np.ndarray
) -> Iterator[Slice]:
    """``start + sum(shares * updates)``: summed in float64 in their order, rounded to float32 once.
    Equal shares of 1 in all are a plain mean. Results without a share are not read."""
    used = np.flatnonzero(shares)
    shares, n = shares[used], len(used)
    if n and np.all(shares == shares[0]) and abs(n * shares[0] - 1) < 1e-12:
        factors = [0.0, *np.ones(n), n]
    else:
        factors = [1 - shares.sum(), *shares, 1.0]
    rows = [start, *(vectors[int(i)] for i in used)]
    return _swept(rows, weighted_sum(), np.array(factors, np.float64))


def _swept(vectors: Sequence[VectorFile], kernel: Function, factors: np.ndarray) -> Iterator[Slice]:
    def one(piece: Piece) -> Slice:
        count = piece.end - piece.begin
        start, merged = np.empty((2, count + LANES), FLOAT32)
        piece.sweep(kernel, start, merged, factors)
        return Slice(piece.begin, piece.end, start[:count], merged[:count])

    return over_slices(vectors, one)
