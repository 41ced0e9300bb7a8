"""Leave out results whose update is far longer or shorter than the round's others."""

from collections.abc import Sequence

import numpy as np

MIN_RESULTS = 5  # of fewer, a median absolute deviation says next to nothing
K = 5.0
MAD_TO_SIGMA = 1.4826
# AdamW moves each weight by about lr a step whatever its gradient, so honest norms of one round
# lie within some per cent of each other. By chance they may lie so close that an honest result
# would stand out: deviations below K * 0.1, half the median, never count. Such a result moves
# the mean of n by at most half a share more than its due.
MIN_SIGMA_OF_MEDIAN = 0.1


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
