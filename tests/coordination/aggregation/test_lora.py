"""What averaging LoRA's factors does to their product, and the exact average."""

import io
from pathlib import Path

import numpy as np
import pytest

from coordination.aggregation.lora import Pair, bias, exact_averages, pairs_of
from coordination.aggregation.merge import Contribution, MergePlan, merge
from coordination.aggregation.outer import Sgd
from coordination.aggregation.rules import RULES
from coordination.aggregation.vectors import VectorFile
from tests.coordination.aggregation.files import split, vector_file
from worker_client.contract.formats import load_format

PAIRS = (Pair(0, 4, 60, 50), Pair(440, 4, 50, 90), Pair(1000, 4, 64, 64))
COUNT = PAIRS[-1].end


def made(folder: Path, n: int, spread: float) -> tuple[VectorFile, list[VectorFile]]:
    rng = np.random.default_rng(n)
    origin = rng.standard_normal(COUNT).astype(np.float32)
    rows = [origin + spread * rng.standard_normal(COUNT) for _ in range(n)]
    files = [vector_file(folder / f"r{i}", row) for i, row in enumerate(rows)]
    return vector_file(folder / "start", origin), files


def products(vector: np.ndarray) -> list[np.ndarray]:
    parts = [pair.split(vector[pair.begin : pair.end].astype(np.float64)) for pair in PAIRS]
    return [b @ a for a, b in parts]


def mean_products(files: list[VectorFile], shares: np.ndarray) -> list[np.ndarray]:
    each = [products(file.read(0, COUNT)) for file in files]
    return [sum(s * m for s, m in zip(shares, ms, strict=True)) for ms in zip(*each, strict=True)]


def norm(matrices: list[np.ndarray]) -> float:
    return float(np.sqrt(sum(np.square(m).sum() for m in matrices)))


def plain_bias(files: list[VectorFile], shares: np.ndarray) -> float:
    exact = mean_products(files, shares)
    rows = np.stack([file.read(0, COUNT) for file in files]).astype(np.float64)
    return norm([m - p for m, p in zip(exact, products(shares @ rows), strict=True)]) / norm(exact)


def test_pairs_cover_a_format_without_a_gap() -> None:
    fmt = load_format("qwen3-0.6b-lora-r16")
    pairs = pairs_of(fmt)
    assert [p.begin for p in pairs[1:]] == [p.end for p in pairs[:-1]]
    assert (pairs[0].begin, pairs[-1].end) == (0, fmt.parameters)
    vector = np.arange(fmt.parameters, dtype=np.float32)
    a, b = pairs[3].split(vector[pairs[3].begin : pairs[3].end])
    tensors = list(split(vector, fmt).values())
    assert np.array_equal(a, tensors[6]) and np.array_equal(b, tensors[7])


@pytest.mark.parametrize("spread", [1.0, 0.1, 0.001])
def test_the_bias_is_what_the_definition_says(tmp_path: Path, spread: float) -> None:
    start, files = made(tmp_path, 5, spread)
    shares = np.array([0.1, 0.3, 0.2, 0.2, 0.2])
    expected = plain_bias(files, shares)
    assert bias(start, files, shares, PAIRS) == pytest.approx(expected, rel=0.15)


def test_the_bias_is_of_second_order_in_the_updates(tmp_path: Path) -> None:
    shares = np.full(4, 0.25)
    far, near = (bias(*made(tmp_path, 4, spread), shares, PAIRS) for spread in (0.02, 0.01))
    assert far / near == pytest.approx(4, rel=0.1)


def test_equal_results_have_no_bias(tmp_path: Path) -> None:
    start, files = made(tmp_path, 1, 0.1)
    assert bias(start, files * 3, np.full(3, 1 / 3), PAIRS) < 1e-6
    nothing = vector_file(tmp_path / "zero", np.zeros(COUNT))
    assert bias(nothing, [nothing], np.ones(1), PAIRS) == 0


@pytest.mark.parametrize("n", [1, 3, 40])  # 40 of rank 4: more columns than the factors have rows
def test_the_exact_average_is_the_best_of_its_rank(tmp_path: Path, n: int) -> None:
    start, files = made(tmp_path, n, 0.3)
    shares = np.random.default_rng(1).dirichlet(np.ones(n))
    merged = np.concatenate([s.merged for s in exact_averages(start, files, shares, PAIRS)])
    for found, wanted in zip(products(merged), mean_products(files, shares), strict=True):
        u, sizes, vt = np.linalg.svd(wanted)
        best = (u[:, :4] * sizes[:4]) @ vt[:4]
        np.testing.assert_allclose(found, best, atol=1e-5 * sizes[0])


def test_the_exact_average_of_one_result_is_that_result(tmp_path: Path) -> None:
    start, files = made(tmp_path, 1, 0.3)
    merged = np.concatenate([s.merged for s in exact_averages(start, files, np.ones(1), PAIRS)])
    np.testing.assert_allclose(merged, files[0].read(0, COUNT), atol=1e-5)


def test_factors_that_are_zero_stay_harmless(tmp_path: Path) -> None:
    zero = vector_file(tmp_path / "zero", np.zeros(COUNT))
    merged = np.concatenate([s.merged for s in exact_averages(zero, [zero], np.ones(1), PAIRS)])
    assert not merged.any()


def test_what_shares_leave_of_one_is_the_start(tmp_path: Path) -> None:
    start, files = made(tmp_path, 3, 0.3)
    shares = np.array([0.2, 0.1, 0.3])
    with_start = [start, *files]
    expected = mean_products(with_start, np.array([0.4, *shares]))
    merged = np.concatenate([s.merged for s in exact_averages(start, files, shares, PAIRS)])
    for found, wanted in zip(products(merged), expected, strict=True):
        u, sizes, vt = np.linalg.svd(wanted)
        np.testing.assert_allclose(found, (u[:, :4] * sizes[:4]) @ vt[:4], atol=1e-5 * sizes[0])


def test_a_merge_uses_and_reports_it(tmp_path: Path) -> None:
    start, files = made(tmp_path, 3, 0.3)
    parts, out = [Contribution(file) for file in files], io.BytesIO()
    plan = MergePlan(outer=Sgd(), pairs=PAIRS, exact=True)
    report = merge(start, [], parts, plan, out.write, [])
    shares = np.full(3, 1 / 3)
    assert report.lora_bias == pytest.approx(plain_bias(files, shares), rel=0.15)
    for found, wanted in zip(
        products(np.frombuffer(out.getvalue(), np.float32)),
        mean_products(files, shares),
        strict=True,
    ):
        assert np.linalg.norm(found, 2) == pytest.approx(np.linalg.norm(wanted, 2), rel=1e-4)


def test_rules_that_give_no_shares_cannot_be_exact(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="median cannot merge products"):
        MergePlan(RULES["median"], pairs=PAIRS, exact=True)
    start, files = made(tmp_path, 3, 0.3)
    plan = MergePlan(RULES["krum"], pairs=PAIRS, exact=True)
    report = merge(
        start, [], [Contribution(file) for file in files], plan, io.BytesIO().write, [len]
    )
    assert report.rule == "geometric_median" and "krum needs 5" in report.fallback
