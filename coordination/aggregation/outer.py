"""Outer optimisers: how the weights move towards a round's merged result.

Each takes the outer gradient ``g = w - merged`` of a slice and is elementwise, so that slices
give the bytes that the whole vector would. ``state_names`` are the vectors it keeps from round
to round beside the weights; in the first round there are none.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

State = Sequence[np.ndarray]


@dataclass(frozen=True)
class Outer(ABC):
    """``lr`` > 0 is the outer learning rate."""

    lr: float = 1.0

    state_names: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        if not 0 < self.lr < float("inf"):
            raise ValueError(f"outer lr {self.lr} must be above 0 and finite")

    @abstractmethod
    def step(self, w: np.ndarray, merged: np.ndarray, state: State) -> tuple[np.ndarray, State]:
        """New weights and state of float32 arrays of one shape; ``state`` is empty at first."""


def _demand_below_one(**values: float) -> None:
    for name, value in values.items():
        if not 0 <= value < 1:
            raise ValueError(f"outer {name} {value} must satisfy 0 <= {name} < 1")


@dataclass(frozen=True)
class Sgd(Outer):
    """``w - lr g``: with ``lr`` 1 the merged result itself."""

    def step(self, w: np.ndarray, merged: np.ndarray, state: State) -> tuple[np.ndarray, State]:
        return _add_scaled(w, -self.lr, w - merged), ()


@dataclass(frozen=True)
class Nesterov(Outer):
    """``torch.optim.SGD(lr, momentum, nesterov=True)``; 0 <= ``momentum`` < 1."""

    momentum: float = 0.5

    state_names = ("momentum",)

    def __post_init__(self) -> None:
        super().__post_init__()
        _demand_below_one(momentum=self.momentum)

    def step(self, w: np.ndarray, merged: np.ndarray, state: State) -> tuple[np.ndarray, State]:
        g = w - merged
        b = np.float32(self.momentum) * state[0] + g if state else g
        return _add_scaled(w, -self.lr, _add_scaled(g, self.momentum, b)), (b,)


@dataclass(frozen=True)
class Adam(Outer):
    """FedAdam (Reddi et al. 2021, arXiv 2003.00295, algorithm 2, without bias correction).

    ``m = beta1 m + (1 - beta1) d``, ``v = beta2 v + (1 - beta2) d^2``,
    ``w + lr m / (sqrt(v) + tau)`` with ``d = merged - w``, ``m = 0`` and ``v = tau^2`` at first.
    """

    beta1: float = 0.9
    beta2: float = 0.99
    tau: float = 1e-3

    state_names = ("mean", "variance")

    def __post_init__(self) -> None:
        super().__post_init__()
        _demand_below_one(beta1=self.beta1, beta2=self.beta2)
        if not 0 < self.tau < float("inf"):
            raise ValueError(f"outer tau {self.tau} must be above 0 and finite")

    def step(self, w: np.ndarray, merged: np.ndarray, state: State) -> tuple[np.ndarray, State]:
        d = np.subtract(merged, w, dtype=np.float64)
        m, v = state if state else (np.zeros_like(w), np.full_like(w, self.tau**2))
        m64 = self.beta1 * m.astype(np.float64) + (1 - self.beta1) * d
        v64 = self.variance(v.astype(np.float64), np.square(d))
        moved = w + self.lr * m64 / (np.sqrt(v64) + self.tau)
        return moved.astype(np.float32), (m64.astype(np.float32), v64.astype(np.float32))

    def variance(self, v: np.ndarray, squared: np.ndarray) -> np.ndarray:
        return self.beta2 * v + (1 - self.beta2) * squared


@dataclass(frozen=True)
class Yogi(Adam):
    """FedYogi of the same paper: ``v - (1 - beta2) d^2 sign(v - d^2)``, which forgets slowly."""

    def variance(self, v: np.ndarray, squared: np.ndarray) -> np.ndarray:
        return v - (1 - self.beta2) * squared * np.sign(v - squared)


OUTER: Mapping[str, type[Outer]] = {"sgd": Sgd, "nesterov": Nesterov, "adam": Adam, "yogi": Yogi}


def _add_scaled(a: np.ndarray, factor: float, b: np.ndarray) -> np.ndarray:
    """``a + factor * b`` of float32 arrays, rounded once, as torch's fused multiply-add does:
    the product of two float32 is exact in float64."""
    scaled = np.multiply(b, np.float64(np.float32(factor)), dtype=np.float64)
    scaled += a
    return scaled.astype(np.float32)
