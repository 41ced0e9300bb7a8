"""The outer step: average a round's results and move the weights by Nesterov momentum.

Everything is elementwise, so slices give the same bytes as the whole vector would, in any
number of processes; memory grows neither with the vector nor with the number of results.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from coordination.aggregation.vectors import (
    FLOAT32,
    SLICE_FLOATS,
    VectorFile,
    as_bytes,
    slices,
    squared_distance,
)

Write = Callable[[memoryview], object]


@dataclass(frozen=True)
class Nesterov:
    """``torch.optim.SGD(lr, momentum, nesterov=True)`` on the gradient ``w - mean``.

    ``lr`` > 0, 0 <= ``momentum`` < 1.
    """

    lr: float = 1.0
    momentum: float = 0.5

    def __post_init__(self) -> None:
        if not (0 < self.lr < float("inf") and 0 <= self.momentum < 1):
            raise ValueError(
                f"outer lr {self.lr} and momentum {self.momentum} must satisfy "
                "0 < lr and 0 <= momentum < 1"
            )

    def step(
        self, w: np.ndarray, mean: np.ndarray, b: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """New weights and momentum of float32 arrays of one shape; ``b`` is None at first."""
        g = w - mean
        b = g if b is None else np.float32(self.momentum) * b + g
        return _add_scaled(w, -self.lr, _add_scaled(g, self.momentum, b)), b


@dataclass(frozen=True)
class MergeReport:
    """L2 norms of a merge: of the outer gradient (start minus mean) and of the step taken."""

    gradient_norm: float
    update_norm: float


def merge(
    start: VectorFile,
    momentum: VectorFile | None,
    results: Sequence[VectorFile],
    outer: Nesterov,
    write_w: Write,
    write_b: Write,
) -> MergeReport:
    """Merge ``results``, in the order given, into the next weights and momentum.

    All vectors have ``start.count`` values. ``momentum`` is None in a run's first round. The
    writers get float32 bytes in order; a slice they are given is theirs only during the call.
    The same arguments give the same bytes.

    Raises:
        ValueError: no results, or vectors of different lengths.
    """
    _check_lengths(start, momentum, results)
    gradient, update = 0.0, 0.0
    buffer = np.empty(SLICE_FLOATS, FLOAT32)
    for begin, end in slices(start.count):
        w = start.read(begin, end)
        mean = mean_slice(results, begin, end, buffer)
        b = None if momentum is None else momentum.read(begin, end)
        new_w, new_b = outer.step(w, mean, b)
        write_w(as_bytes(new_w))
        write_b(as_bytes(new_b))
        gradient += squared_distance(w, mean)
        update += squared_distance(new_w, w)
    return MergeReport(sqrt(gradient), sqrt(update))


def mean_slice(
    results: Sequence[VectorFile], begin: int, end: int, buffer: np.ndarray
) -> np.ndarray:
    """Mean of values ``begin`` to ``end`` over ``results``: summed in float64 in their order,
    rounded to float32 once."""
    total = np.zeros(end - begin, np.float64)
    for result in results:
        total += result.read(begin, end, buffer)
    total /= len(results)
    return total.astype(FLOAT32)


def _check_lengths(
    start: VectorFile, momentum: VectorFile | None, results: Sequence[VectorFile]
) -> None:
    if not results:
        raise ValueError("a merge needs at least one result")
    others = [*results, *([momentum] if momentum else [])]
    if odd := [vector for vector in others if vector.count != start.count]:
        raise ValueError(
            f"{odd[0].path.name} has {odd[0].count} values where the snapshot has {start.count}"
        )


def _add_scaled(a: np.ndarray, factor: float, b: np.ndarray) -> np.ndarray:
    """``a + factor * b`` of float32 arrays, rounded once, as torch's fused multiply-add does:
    the product of two float32 is exact in float64."""
    scaled = np.multiply(b, np.float64(np.float32(factor)), dtype=np.float64)
    scaled += a
    return scaled.astype(FLOAT32)
