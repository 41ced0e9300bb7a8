"""The outer step: the same bytes every time, and torch's SGD to the last place."""

import io
import tracemalloc
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch

from coordination.aggregation.merge import Contribution, MergePlan, MergeReport, merge
from coordination.aggregation.outer import Nesterov
from coordination.aggregation.passes import MAX_THREADS, SLICE_COLUMNS, SWEPT_FLOATS
from coordination.aggregation.rules import RULES
from coordination.aggregation.vectors import SLICE_FLOATS, VectorFile
from tests.coordination.aggregation.files import vector_file

COUNT = 2 * SLICE_FLOATS + 1003  # two whole slices and a part of one


def run_merge(
    start: VectorFile,
    momentum: VectorFile | None,
    results: Sequence[VectorFile],
    outer: Nesterov = Nesterov(),  # noqa: B008
) -> tuple[MergeReport, np.ndarray, np.ndarray]:
    w, b = io.BytesIO(), io.BytesIO()
    state = [momentum] if momentum else []
    parts = [Contribution(result) for result in results]
    report = merge(start, state, parts, MergePlan(outer=outer), w.write, [b.write])
    return report, np.frombuffer(w.getvalue(), "<f4"), np.frombuffer(b.getvalue(), "<f4")


def trained_from(w: np.ndarray, folder: Path, seed: int, n: int = 3) -> list[VectorFile]:
    rng = np.random.default_rng(seed)
    return [
        vector_file(folder / f"{seed}-{i}", w + rng.normal(0, 1e-2, w.size).astype(np.float32))
        for i in range(n)
    ]


def torch_rounds(
    w: np.ndarray, means: Sequence[np.ndarray], outer: Nesterov
) -> list[tuple[np.ndarray, np.ndarray]]:
    """What torch's optimiser makes of the same averages: weights and momentum per round."""
    parameter = torch.nn.Parameter(torch.from_numpy(w.copy()))
    optimiser = torch.optim.SGD([parameter], outer.lr, outer.momentum, nesterov=True)
    states = []
    for mean in means:
        parameter.grad = parameter.detach() - torch.from_numpy(mean)
        optimiser.step()
        buffer = optimiser.state[parameter]["momentum_buffer"]
        states.append((parameter.detach().numpy().copy(), buffer.numpy().copy()))
    return states


def mean_of(results: Sequence[VectorFile]) -> np.ndarray:
    total = np.zeros(results[0].count, np.float64)
    for result in results:
        total += np.fromfile(result.path, "<f4")
    return (total / len(results)).astype(np.float32)


@pytest.mark.parametrize("outer", [Nesterov(1.0, 0.5), Nesterov(0.7, 0.9), Nesterov(0.3, 0.3)])
def test_equals_torch_over_several_rounds(tmp_path: Path, outer: Nesterov) -> None:
    first = np.random.default_rng(0).standard_normal(COUNT).astype(np.float32)
    w, momentum, ours, means = first, None, [], []
    for seed in range(1, 7):
        results = trained_from(w, tmp_path, seed)
        start = vector_file(tmp_path / f"w{seed}", w)
        _, w, b = run_merge(start, momentum, results, outer)
        momentum = vector_file(tmp_path / f"b{seed}", b)
        ours.append((w, b))
        means.append(mean_of(results))
    for mine, theirs in zip(ours, torch_rounds(first, means, outer), strict=True):
        np.testing.assert_array_max_ulp(mine[0], theirs[0], maxulp=1)
        np.testing.assert_array_max_ulp(mine[1], theirs[1], maxulp=1)


def test_slices_leave_no_seam(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    w, b = rng.standard_normal((2, COUNT)).astype(np.float32)
    results = trained_from(w, tmp_path, seed=6)
    _, new_w, new_b = run_merge(
        vector_file(tmp_path / "w", w), vector_file(tmp_path / "b", b), results
    )
    g = w - mean_of(results)
    assert np.array_equal(new_b, np.float32(0.5) * b + g)
    assert np.array_equal(new_w, w - (g + np.float32(0.5) * new_b))


def test_the_same_merge_gives_the_same_bytes(tmp_path: Path) -> None:
    w = np.random.default_rng(7).standard_normal(COUNT).astype(np.float32)
    start, results = vector_file(tmp_path / "w", w), trained_from(w, tmp_path, 8, n=9)
    once, again = run_merge(start, None, results), run_merge(start, None, results)
    assert once[0] == again[0]
    assert once[1].tobytes() == again[1].tobytes()
    assert once[2].tobytes() == again[2].tobytes()


def test_sums_in_float64_and_rounds_once(tmp_path: Path) -> None:
    # In float32 the 1 would vanish beside 2^30.
    values = [2.0**30, 1.0, -(2.0**30), 2.0]
    results = [vector_file(tmp_path / str(i), [v]) for i, v in enumerate(values)]
    _, _, b = run_merge(vector_file(tmp_path / "w", [0.0]), None, results)
    assert b[0] == -0.75


def test_reads_the_vector_inside_a_snapshot_file(tmp_path: Path) -> None:
    plain = vector_file(tmp_path / "plain", [1.0, 2.0])
    inside = vector_file(tmp_path / "snapshot", [1.0, 2.0], offset=42)
    results = [vector_file(tmp_path / "r", [3.0, 4.0])]
    assert np.array_equal(run_merge(plain, None, results)[1], run_merge(inside, None, results)[1])


def test_without_progress_the_momentum_rolls_on(tmp_path: Path) -> None:
    start = vector_file(tmp_path / "w", [1.0, -1.0])
    report, w, b = run_merge(start, vector_file(tmp_path / "b", [0.5, 0.0]), [start])
    assert b.tolist() == [0.25, 0.0]
    assert w.tolist() == [0.875, -1.0]
    assert (report.gradient_norm, report.update_norm) == (0.0, 0.125)


def test_reports_norms(tmp_path: Path) -> None:
    start, result = vector_file(tmp_path / "w", [0, 0]), vector_file(tmp_path / "r", [3, -4])
    report, w, _ = run_merge(start, None, [result])
    assert w.tolist() == [4.5, -6.0]  # g + mu * b at the first step: 1.5 times the average
    assert report == MergeReport(gradient_norm=5.0, update_norm=7.5, rule="mean", shares=(1.0,))


def test_no_results_or_odd_lengths_are_errors(tmp_path: Path) -> None:
    start, short = vector_file(tmp_path / "w", [0, 0]), vector_file(tmp_path / "short", [1])
    with pytest.raises(ValueError, match="at least one result"):
        run_merge(start, None, [])
    with pytest.raises(ValueError, match="short has 1 values where the snapshot has 2"):
        run_merge(start, None, [start, short])
    with pytest.raises(ValueError, match="short has 1 values"):
        run_merge(start, short, [start])


@pytest.mark.parametrize(
    ("lr", "momentum"), [(0.0, 0.5), (float("nan"), 0.5), (float("inf"), 0.5), (1.0, 1.0), (1, -1)]
)
def test_senseless_outer_settings_are_refused(lr: float, momentum: float) -> None:
    with pytest.raises(ValueError, match="outer (lr|momentum)"):
        Nesterov(lr, momentum)


@pytest.mark.parametrize("rule", ["mean", "trimmed_mean", "geometric_median"])
@pytest.mark.parametrize("n", [3, 60])
def test_memory_does_not_grow_with_vector_or_results(tmp_path: Path, rule: str, n: int) -> None:
    start = vector_file(tmp_path / "w", np.ones(2 * SLICE_FLOATS))
    plan = MergePlan(RULES[rule], clip=True)
    parts = [Contribution(start, norm=1.0 + i) for i in range(n)]
    with (tmp_path / "out").open("wb") as out:
        tracemalloc.start()
        merge(start, [start], parts, plan, out.write, [out.write])
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    slices = 2 * (MAX_THREADS + 2) * SLICE_COLUMNS  # start and merged, of those under way
    assert peak < 4 * (MAX_THREADS * SWEPT_FLOATS + slices) + 8 * 2**20
