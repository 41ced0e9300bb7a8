"""Known answers of ByzFL, a library of the field, for ``test_byzfl.py``.

    pip install --no-deps byzfl==0.0.11     # in an environment of its own, with numpy, scipy, torch
    python -m tests.coordination.aggregation.rules.byzfl_answers > .../rules/byzfl_answers.json

ByzFL is no dependency of this project: it demands a GPU build of torch. The inputs are drawn here
from numpy's legacy generator, whose stream never changes.
"""

import json
import sys
import types
from collections.abc import Iterator
from importlib.machinery import PathFinder
from typing import Any

import numpy as np

COLUMNS, COUNTS = 17, ((5, 1), (11, 3))
ATTACKS = ("none", "sign flip", "thousandfold", "noise", "zero", "all equal", "a little")
SMOOTHING, STEPS, RADIUS = 0.1, 7, 3.0


def inputs(n: int, f: int, attack: str) -> np.ndarray:
    """Float32 ``[n, COLUMNS]``; the first ``f`` are hostile."""
    rng = np.random.RandomState(1000 * n + ATTACKS.index(attack))
    found = 0.3 + rng.standard_normal((n, COLUMNS))
    honest = found[f:]
    found[:f] = {
        "none": found[:f],
        "sign flip": -found[:f],
        "thousandfold": 1000 * found[:f],
        "noise": 30 * rng.standard_normal((f, COLUMNS)),
        "zero": np.zeros((f, COLUMNS)),
        "all equal": np.tile(honest[0], (f, 1)),
        "a little": np.tile(honest.mean(axis=0) - 1.5 * honest.std(axis=0), (f, 1)),
    }[attack]
    return found.astype(np.float32)


def cases() -> Iterator[tuple[int, int, str]]:
    for n, f in COUNTS:
        for attack in ATTACKS:
            yield n, f, attack


def load_byzfl() -> tuple[Any, Any]:
    """Its aggregators and pre-aggregators alone: the package's own start imports torchvision."""
    found = PathFinder.find_spec("byzfl")
    if found is None or found.submodule_search_locations is None:
        raise ImportError("byzfl is not installed")
    package = types.ModuleType("byzfl")
    package.__path__ = list(found.submodule_search_locations)
    sys.modules["byzfl"] = package
    from byzfl.aggregators import aggregators, preaggregators

    return aggregators, preaggregators


def answers(x: np.ndarray, f: int) -> dict[str, list[float]]:
    rules, before = load_byzfl()
    # Its Clipping writes into what it is given.
    limited = before.Clipping(float(np.median(np.linalg.norm(x, axis=1))))(x.copy())
    found = {
        "mean": rules.Average()(x),
        "median": rules.Median()(x),
        "trimmed_mean": rules.TrMean(f)(x),
        "krum": rules.Krum(f)(x),
        "multi_krum": rules.MultiKrum(f)(x),
        "geometric_median": rules.GeometricMedian(SMOOTHING, STEPS)(x),
        "centered_clipping": rules.CenteredClipping(L=STEPS, tau=RADIUS)(x),
        "clipped mean": rules.Average()(limited),
        "clipped median": rules.Median()(limited),
        "clipped trimmed_mean": rules.TrMean(f)(limited),
        "clipped multi_krum": rules.MultiKrum(f)(limited),
    }
    return {name: [float(f"{v:.12g}") for v in values] for name, values in found.items()}


if __name__ == "__main__":
    known = {
        f"{n} {f} {attack}": answers(inputs(n, f, attack).astype(np.float64), f)
        for n, f, attack in cases()
    }
    json.dump(known, sys.stdout, separators=(",", ":"))
