"""Every rule against a plain implementation in memory, on friendly and hostile inputs."""

from pathlib import Path

import numpy as np
import pytest

from coordination.aggregation import average
from coordination.aggregation.merge import Contribution, MergePlan, MergeReport, aggregate
from coordination.aggregation.rules import RULES, choose, hostile
from coordination.aggregation.rules.distance import CenteredClipping, GeometricMedian
from coordination.aggregation.rules.ranks import NETWORK_ROWS
from coordination.aggregation.rules.rule import Rule
from tests.coordination.aggregation.files import vector_file
from tests.coordination.aggregation.rules.plain import ATTACKS, PLAIN, clipped, updates

COUNT = 40_001  # more than a slice, and no multiple of anything
NAMES = sorted(RULES)


def run_rule(
    folder: Path, found: np.ndarray, plan: MergePlan, weights: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, MergeReport]:
    """The merged vector, the start, the results as stored in float32, and the report."""
    start = np.random.default_rng(99).standard_normal(found.shape[1:], np.float32)
    results = (start + found).astype(np.float32)
    given = np.ones(len(results)) if weights is None else weights
    parts = [
        Contribution(vector_file(folder / f"r{i}", row), float(given[i]))
        for i, row in enumerate(results)
    ]
    merged = bytearray()
    report = aggregate(vector_file(folder / "start", start), parts, plan, merged.extend)
    return np.frombuffer(merged, np.float32), start, results, report


@pytest.mark.parametrize("clip", [False, True])
@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("name", NAMES)
def test_gives_what_a_plain_implementation_gives(
    tmp_path: Path, name: str, attack: str, clip: bool
) -> None:
    plan = MergePlan(RULES[name], clip=clip)
    merged, start, results, report = run_rule(tmp_path, updates(9, attack, COUNT), plan)
    assert (report.rule, report.fallback) == (name, "")
    d = results.astype(np.float64) - start
    expected = PLAIN[name](clipped(d) if clip else d, hostile(9, plan.byzantine_share))
    rounding = np.linalg.norm(np.spacing(np.abs(start)))  # what is written is float32
    apart = np.linalg.norm(merged - start - expected)
    assert apart <= 1e-6 * np.linalg.norm(expected) + rounding


@pytest.mark.parametrize("name", NAMES)
def test_bytes_are_the_same_every_time(tmp_path: Path, name: str) -> None:
    plan = MergePlan(RULES[name], clip=True)
    first = run_rule(tmp_path, updates(8, "noise", COUNT), plan)
    again = run_rule(tmp_path, updates(8, "noise", COUNT), plan)
    assert first[0].tobytes() == again[0].tobytes() and first[3] == again[3]


@pytest.mark.parametrize(
    "rule",
    [
        RULES["mean"],
        RULES["geometric_median"],
        CenteredClipping("fixed radius", radius=2.0),
    ],
)
def test_a_weight_of_two_counts_like_two_equal_results(tmp_path: Path, rule: Rule) -> None:
    d = updates(7, "none", COUNT)
    plan = MergePlan(rule)
    weighted, *_ = run_rule(tmp_path, d, plan, np.array([2.0, 2, 2, 1, 1, 1, 1]))
    doubled, *_ = run_rule(tmp_path, np.concatenate([d, d[:3]]), plan)
    np.testing.assert_allclose(weighted, doubled, atol=3e-7)


def test_the_chosen_of_multi_krum_are_weighted(tmp_path: Path) -> None:
    weights = np.array([9.0, 1, 1, 3, 1, 1, 1])
    found = updates(7, "thousandfold", 500)
    *_, report = run_rule(tmp_path, found, MergePlan(RULES["multi_krum"]), weights)
    assert report.shares is not None
    assert report.shares == pytest.approx([0, *(weights[1:] / weights[1:].sum())])


def test_the_scale_of_weights_means_nothing(tmp_path: Path) -> None:
    weights = np.array([1.0, 5, 2, 1, 3])
    plan = MergePlan(RULES["geometric_median"])
    one, *_ = run_rule(tmp_path, updates(5, "none", 999), plan, weights)
    other, *_ = run_rule(tmp_path, updates(5, "none", 999), plan, 1024 * weights)
    assert one.tobytes() == other.tobytes()


def test_clipping_takes_norms_as_given_or_measures_them(tmp_path: Path) -> None:
    start = vector_file(tmp_path / "w", np.zeros(5))
    rows = np.array([[3.0, 4, 0, 0, 0], [1, 0, 0, 0, 0], [0, 2, 0, 0, 0]])
    vectors = [vector_file(tmp_path / str(i), row) for i, row in enumerate(rows)]
    norms = np.linalg.norm(rows, axis=1).tolist()
    told, measured = bytearray(), bytearray()
    given = [Contribution(v, norm=norm) for v, norm in zip(vectors, norms, strict=True)]
    aggregate(start, given, MergePlan(clip=True), told.extend)
    aggregate(start, [Contribution(v) for v in vectors], MergePlan(clip=True), measured.extend)
    assert told == measured
    assert np.allclose(np.frombuffer(told, np.float32), [2.2 / 3, 3.6 / 3, 0, 0, 0])


@pytest.mark.parametrize(
    ("name", "n", "used"),
    [
        ("krum", 5, "krum"),
        ("krum", 4, "median"),
        ("multi_krum", 3, "median"),
        ("multi_krum", 2, "mean"),
        ("trimmed_mean", 3, "trimmed_mean"),
        ("trimmed_mean", 2, "mean"),
        ("median", 2, "mean"),
        ("geometric_median", 2, "mean"),
        ("centered_clipping", 1, "mean"),
        ("mean", 1, "mean"),
    ],
)
def test_too_few_results_fall_back_and_say_so(tmp_path: Path, name: str, n: int, used: str) -> None:
    *_, report = run_rule(tmp_path, updates(n, "none", 99), MergePlan(RULES[name]))
    assert report.rule == used
    if used == name:
        assert report.fallback == ""
    else:
        assert name in report.fallback and f"{n} came" in report.fallback


def test_the_number_of_hostile_results_follows_the_share() -> None:
    assert [hostile(n, 0.3) for n in (1, 3, 6, 7, 10, 20, 100)] == [1, 1, 1, 2, 3, 6, 30]
    assert hostile(100, 0.0) == 0
    assert choose(RULES["krum"], 100, hostile(100, 0.48)).f == 48
    assert choose(RULES["krum"], 100, hostile(100, 0.49)).fallback


@pytest.mark.parametrize(
    ("n", "trusted", "left_out", "merged"),
    [(10, 0, 0, 7), (10, 6, 0, 9), (10, 10, 0, 10), (8, 0, 2, 7), (7, 0, 3, 7), (7, 0, 5, 7)],
)
def test_what_is_trusted_or_left_out_already_need_not_be_survived(
    tmp_path: Path, n: int, trusted: int, left_out: int, merged: int
) -> None:
    start = vector_file(tmp_path / "start", np.zeros(99, np.float32))
    parts = [
        Contribution(vector_file(tmp_path / f"r{i}", row), trusted=i < trusted)
        for i, row in enumerate(updates(n, "none", 99).astype(np.float32))
    ]
    plan = MergePlan(RULES["multi_krum"], 0.3)
    report = aggregate(start, parts, plan, bytearray().extend, left_out)
    assert report.shares is not None
    assert sum(share > 0 for share in report.shares) == merged


@pytest.mark.parametrize("name", sorted(set(NAMES) - {"mean", "token_mean"}))
def test_one_huge_result_moves_no_robust_rule_far(tmp_path: Path, name: str) -> None:
    d = updates(9, "none", COUNT)
    d[0] = 1e6
    merged, start, _, _ = run_rule(tmp_path, d, MergePlan(RULES[name]))
    largest = np.linalg.norm(d[1:], axis=1).max()
    assert np.linalg.norm(merged - start - d[1:].mean(axis=0)) < largest


def test_the_geometric_median_of_points_on_a_line_is_their_median(tmp_path: Path) -> None:
    d = np.array([[0.0], [1.0], [7.0]])
    patient = GeometricMedian("patient", iterations=5000)
    merged, start, *_ = run_rule(tmp_path, d, MergePlan(patient))
    assert merged - start == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("share", [-0.1, 0.5, 1.0, float("nan")])
def test_senseless_shares_are_refused(share: float) -> None:
    with pytest.raises(ValueError, match="hostile share"):
        MergePlan(byzantine_share=share)


@pytest.mark.parametrize("n", [8, NETWORK_ROWS + 1])
@pytest.mark.parametrize("name", ["median", "trimmed_mean", "mean"])
def test_zeros_of_both_signs_make_a_positive_one(tmp_path: Path, name: str, n: int) -> None:
    zero = vector_file(tmp_path / "start", np.full(50, -0.0, np.float32))
    parts = [
        Contribution(vector_file(tmp_path / f"r{i}", np.full(50, sign, np.float32)))
        for i, sign in enumerate([-0.0, 0.0] * (n // 2) + [-0.0] * (n % 2))
    ]
    merged = bytearray()
    aggregate(zero, parts, MergePlan(RULES[name]), merged.extend)
    assert merged == bytes(4 * 50)


@pytest.mark.parametrize("clip", [False, True])
@pytest.mark.parametrize("name", ["median", "trimmed_mean"])
def test_many_results_are_merged_as_few_are(
    tmp_path: Path, name: str, clip: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, found = MergePlan(RULES[name], clip=clip), updates(9, "noise", COUNT)
    compared, *_ = run_rule(tmp_path, found, plan)
    monkeypatch.setattr(average, "NETWORK_ROWS", 8)
    ordered, *_ = run_rule(tmp_path, found, plan)
    assert np.array_equal(compared, ordered)
