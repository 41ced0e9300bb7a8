"""The rules as their papers write them, in memory and in float64, and inputs to try them on."""

from collections.abc import Callable

import numpy as np

ATTACKS = ["none", "sign flip", "thousandfold", "noise", "zero", "all equal"]


def updates(n: int, attack: str, columns: int, seed: int = 0) -> np.ndarray:
    """Float64 ``[n, columns]``: honest updates share a direction; a quarter may be hostile."""
    rng = np.random.default_rng(seed)
    found = 0.003 + 0.01 * rng.standard_normal((n, columns))
    bad = slice(0, max(1, n // 4))
    if attack == "sign flip":
        found[bad] *= -1
    elif attack == "thousandfold":
        found[bad] *= 1000
    elif attack == "noise":
        found[bad] = rng.standard_normal(found[bad].shape)
    elif attack == "zero":
        found[bad] = 0
    elif attack == "all equal":
        found[bad] = found[-1]
    return found


def clipped(d: np.ndarray) -> np.ndarray:
    norms = np.linalg.norm(d, axis=1)
    factors = np.divide(np.median(norms), norms, out=np.ones(len(d)), where=norms > 0)
    return d * np.minimum(1, factors)[:, None]


def mean(d: np.ndarray, f: int) -> np.ndarray:
    return d.mean(axis=0)


def median(d: np.ndarray, f: int) -> np.ndarray:
    return np.median(d, axis=0)


def trimmed_mean(d: np.ndarray, f: int) -> np.ndarray:
    return np.sort(d, axis=0)[f : len(d) - f].mean(axis=0)


def krum_scores(d: np.ndarray, f: int) -> np.ndarray:
    squared = np.array([[np.sum((a - b) ** 2) for b in d] for a in d])
    return np.sort(squared, axis=1)[:, 1 : len(d) - f].sum(axis=1)


def krum(d: np.ndarray, f: int) -> np.ndarray:
    return d[np.argmin(krum_scores(d, f))]


def multi_krum(d: np.ndarray, f: int) -> np.ndarray:
    return d[np.argsort(krum_scores(d, f), kind="stable")[: len(d) - f]].mean(axis=0)


def geometric_median(d: np.ndarray, f: int) -> np.ndarray:
    nearest = 1e-4 * np.median(np.linalg.norm(d, axis=1))
    centre = np.zeros(d.shape[1])
    for _ in range(500):
        pull = 1 / np.maximum(np.linalg.norm(d - centre, axis=1), nearest)
        before, centre = centre, (pull[:, None] * d).sum(axis=0) / pull.sum()
        if np.linalg.norm(centre - before) <= 1e-12 * np.linalg.norm(centre):
            break
    return centre


def centered_clipping(d: np.ndarray, f: int) -> np.ndarray:
    centre = np.zeros(d.shape[1])
    for _ in range(5):
        apart = d - centre
        norms = np.linalg.norm(apart, axis=1)
        scale = np.minimum(1, np.median(norms) / np.maximum(norms, 1e-300))
        centre = centre + (apart * scale[:, None]).mean(axis=0)
    return centre


PLAIN: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {
    "mean": mean,
    "token_mean": mean,
    "median": median,
    "trimmed_mean": trimmed_mean,
    "krum": krum,
    "multi_krum": multi_krum,
    "geometric_median": geometric_median,
    "centered_clipping": centered_clipping,
}
