"""Leave out of a round what cannot be honest work, by what intake measured of each result.

Five screens, each over what the ones before it left: an unchanged snapshot, a copy, a task done
faster than it can be, an update far longer or shorter than the others, one that leads against
them. All are careful rather than sharp, since an honest result that is left out is lost work:
what passes is the merging rule's affair.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from coordination.aggregation.rules.distance import GeometricMedian, squared_distances
from coordination.aggregation.sketch import SKETCH_FLOATS

MIN_RESULTS = 5  # of fewer, a median absolute deviation says next to nothing
K = 5.0
MAD_TO_SIGMA = 1.4826
# AdamW moves each weight by about lr a step whatever its gradient, so honest norms of one round
# lie within some per cent of each other. By chance they may lie so close that an honest result
# would stand out: deviations below K * 0.1, half the median, never count. Such a result moves
# the mean of n by at most half a share more than its due.
MIN_SIGMA_OF_MEDIAN = 0.1
# Two honest updates are made of other rows in another order. Even where these teach the same,
# they lie further apart than a tenth of their length, and than a quarter of what is usual.
COPY_DISTANCE = 0.1
COPY_OF_MEDIAN_DISTANCE = 0.25
# A task lasts from its lease to its result, transfers included. The fastest GPU is not a
# hundred times as fast in that as half of the others.
FASTER_THAN_MEDIAN = 100.0
# Cosines of sketches are wrong by about one standard error of 1/64.
AGAINST = -4 / SKETCH_FLOATS**0.5


class Reason(StrEnum):
    """Why a result was left out; the value travels as ``kod``."""

    UNCHANGED = "degismemis"
    COPY = "kopya"
    TOO_FAST = "fazla_hizli"
    NORM = "norm_aykiri"
    DIRECTION = "yon_aykiri"


@dataclass(frozen=True)
class Evidence:
    """What is known of one result without reading it again.

    Args:
        norm: L2 norm of its update.
        sketch: of its update, float32 ``[SKETCH_FLOATS]``, or None.
        digest: of its weights.
        order: results are compared in this order of their arrival; the first of copies stays.
        seconds: from lease to result by the server's clock, never the worker's; None if unknown.
        seen_before: the same weights were delivered in an earlier round.
    """

    norm: float
    sketch: np.ndarray | None = None
    digest: str = ""
    order: int = 0
    seconds: float | None = None
    seen_before: bool = False


def screen(results: Sequence[Evidence]) -> dict[int, Reason]:
    """Which results to leave out of the merge, by index, and why."""
    out: dict[int, Reason] = {}
    for reason, find in SCREENS.items():
        left = [index for index in range(len(results)) if index not in out]
        found = find([results[index] for index in left])
        out |= {left[index]: reason for index in found}
    return out


def screen_unchanged(results: Sequence[Evidence]) -> list[int]:
    """Results that are the snapshot as it was: no step of any optimiser leaves it so."""
    return [index for index, result in enumerate(results) if result.norm == 0]


def screen_copies(results: Sequence[Evidence]) -> list[int]:
    """Results that equal, or nearly equal, another that came before them."""
    near = _near_pairs(results)
    digests: set[str] = set()
    copies: list[int] = []
    for index in sorted(range(len(results)), key=lambda i: results[i].order):
        result = results[index]
        copied = any(near[index, j] for j in range(len(results)) if _before(results, j, index))
        if result.seen_before or result.digest in digests or copied:
            copies.append(index)
        digests |= {result.digest} if result.digest else set()
    return sorted(copies)


def _before(results: Sequence[Evidence], j: int, index: int) -> bool:
    return (results[j].order, j) < (results[index].order, index)


def _near_pairs(results: Sequence[Evidence]) -> np.ndarray:
    """Bool ``[n, n]``: pairs far nearer to each other than to the round's others."""
    n = len(results)
    near = np.zeros((n, n), bool)
    gram, known = _sketch_gram(results)
    if len(known) < 3:
        return near
    distances = np.sqrt(squared_distances(gram))
    lengths = np.sqrt(np.diag(gram))
    usual = np.median(distances[np.triu_indices(len(known), 1)])
    limit = np.minimum(
        COPY_DISTANCE * np.minimum(lengths[:, None], lengths[None, :]),
        COPY_OF_MEDIAN_DISTANCE * usual,
    )
    near[np.ix_(known, known)] = distances < limit
    return near


def screen_fast(results: Sequence[Evidence]) -> list[int]:
    """Results that took less than a hundredth of the round's median time."""
    seconds = np.array([result.seconds or np.nan for result in results], np.float64)
    known = seconds > 0
    if known.sum() < MIN_RESULTS:
        return []
    limit = np.median(seconds[known]) / FASTER_THAN_MEDIAN
    return np.flatnonzero(known & (seconds < limit)).tolist()


def screen_norms(norms: Sequence[float]) -> list[int]:
    """Indices (ascending) of results to leave out of the merge, by their update's L2 norm.

    A norm is left out when it is further than ``K`` standard deviations from the median, the
    deviation being estimated as ``1.4826 * MAD`` and taken as a tenth of the median at least.
    Both sides count: a huge update drags the mean along, one near zero is work that was not
    done. At least half of the finite norms always stay, since they lie within one MAD.
    Fewer than five finite norms are not compared, nor are they when most of them are zero.
    What is not finite is left out always.
    """
    values = np.asarray(norms, np.float64)
    finite = np.isfinite(values)
    return np.flatnonzero(~finite | _outliers(values, finite)).tolist()


def _outliers(values: np.ndarray, finite: np.ndarray) -> np.ndarray:
    if finite.sum() < MIN_RESULTS or not (median := np.median(values[finite])):
        return np.zeros_like(finite)
    deviation = np.abs(values - median)
    mad = np.median(deviation[finite])
    return deviation > K * max(MAD_TO_SIGMA * mad, MIN_SIGMA_OF_MEDIAN * median)


def screen_directions(results: Sequence[Evidence]) -> list[int]:
    """Results whose update leads against the geometric median of all, while most go along."""
    gram, known = _sketch_gram(results)
    if len(known) < MIN_RESULTS:
        return []
    centre = GeometricMedian("centre").shares(gram, np.full(len(known), 1 / len(known)), 0)
    products = gram @ centre
    lengths = np.sqrt(np.diag(gram) * (centre @ products))
    cosines = np.divide(products, lengths, out=np.zeros_like(products), where=lengths > 0)
    if np.median(cosines) < -AGAINST:
        return []
    return [known[i] for i in np.flatnonzero(cosines < AGAINST)]


def _sketch_gram(results: Sequence[Evidence]) -> tuple[np.ndarray, list[int]]:
    """Inner products of the sketches, and whose they are."""
    known = [index for index, result in enumerate(results) if result.sketch is not None]
    sketches = np.array([results[index].sketch for index in known], np.float64)
    return (sketches @ sketches.T if known else np.empty((0, 0))), known


SCREENS: dict[Reason, Callable[[Sequence[Evidence]], list[int]]] = {
    Reason.UNCHANGED: screen_unchanged,
    Reason.COPY: screen_copies,
    Reason.TOO_FAST: screen_fast,
    Reason.NORM: lambda results: screen_norms([result.norm for result in results]),
    Reason.DIRECTION: screen_directions,
}
