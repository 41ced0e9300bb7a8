"""The rules give what ByzFL's give, on friendly and hostile inputs, to 1e-6."""

import json
from pathlib import Path

import numpy as np
import pytest

from coordination.aggregation.merge import Contribution, MergePlan, aggregate
from coordination.aggregation.rules import RULES
from coordination.aggregation.rules.distance import CenteredClipping, GeometricMedian
from coordination.aggregation.rules.rule import Rule
from tests.coordination.aggregation.files import vector_file
from tests.coordination.aggregation.rules.byzfl_answers import (
    COLUMNS,
    RADIUS,
    SMOOTHING,
    STEPS,
    cases,
    inputs,
)

KNOWN = json.loads(Path(__file__).with_name("byzfl_answers.json").read_text())


def rule_named(name: str, x: np.ndarray) -> Rule:
    """Ours, with ByzFL's number of steps; its smoothing is absolute, ours a part of the norm."""
    if name == "centered_clipping":
        return CenteredClipping(name, radius=RADIUS, steps=STEPS)
    if name == "geometric_median":
        norm = float(np.median(np.linalg.norm(x.astype(np.float64), axis=1)))
        return GeometricMedian(name, smoothing=SMOOTHING / norm, iterations=STEPS, tolerance=0.0)
    return RULES[name]


@pytest.mark.parametrize(("n", "f", "attack"), list(cases()))
def test_equals_byzfl(tmp_path: Path, n: int, f: int, attack: str) -> None:
    x = inputs(n, f, attack)
    start = vector_file(tmp_path / "start", np.zeros(COLUMNS))
    parts = [Contribution(vector_file(tmp_path / str(i), row)) for i, row in enumerate(x)]
    answers = KNOWN[f"{n} {f} {attack}"]
    assert len(answers) == 11
    for name, expected in answers.items():
        plan = MergePlan(
            rule_named(name.removeprefix("clipped "), x),
            byzantine_share=f / n,
            clip=name.startswith("clipped"),
        )
        merged = bytearray()
        report = aggregate(start, parts, plan, merged.extend)
        assert report.fallback == ""
        apart = np.linalg.norm(np.frombuffer(merged, np.float32) - np.array(expected))
        assert apart <= 1e-6 * np.linalg.norm(expected), name
