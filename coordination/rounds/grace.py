"""How long a round with its quorum waits for the rest."""

from collections.abc import Sequence
from statistics import median

# Results that came all at once say little about the others: they get at least so much of the
# median again.
LEAST_SPREAD = 0.05


def grace_end(arrivals: Sequence[float], factor: float) -> float:
    """Seconds after a round's opening at which it need not wait any longer.

    ``arrivals`` are the seconds at which its results came, at least one. The answer is their
    median plus ``factor`` times their median absolute deviation, which is taken as a twentieth
    of the median at least: fixed waiting times are always wrong, so the round's own results say
    how far apart they come.
    """
    middle = median(arrivals)
    deviation = median(abs(arrival - middle) for arrival in arrivals)
    return middle + factor * max(deviation, LEAST_SPREAD * middle)
