"""How a run merges, from its settings to what the world, the worker and the operator are told."""

import logging
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from coordination.models import Check, OuterState, Result, Round, Run, Snapshot, Worker
from coordination.rounds.merge import contributions
from coordination.rounds.reconcile import reconcile
from coordination.rounds.retain import is_named
from coordination.storage import snapshot_vector
from tests.coordination.making import WorkerOf, make_run, vector, write_weights
from worker_client.contract.formats import load_format

pytestmark = pytest.mark.django_db
FMT = load_format("tiny-qwen3-lora-r4")


def deliver(run: Run, bodies: list[bytes], post_whole, prefix: str = "worker") -> list[dict]:
    """One worker per result, in order; then the round is closed and merged. The tasks."""
    tasks = []
    for number, body in enumerate(bodies):
        worker = WorkerOf(run, f"{prefix}-{number}")
        tasks.append(worker.lease())
        answer = post_whole(worker, tasks[-1], body)
        assert answer.status_code == 200, answer.content
    reconcile()
    reconcile()
    return tasks


def fate(run: Run, task: dict) -> dict:
    return WorkerOf(run).sonuc(task, "get").json()


def read(run: Run, number: int) -> np.ndarray:
    stored = snapshot_vector(Snapshot.objects.get(run=run, number=number))
    return stored.read(0, stored.count).copy()


@pytest.fixture
def five(db, tmp_path: Path) -> Run:
    return make_run(tmp_path, "five", shards=5, outer="sgd")


@pytest.fixture
def body(tmp_path: Path) -> Callable[..., bytes]:
    """A result: the first snapshot and ``scale`` times an update drawn from ``seed``."""

    def make(seed: int, scale: float = 1.0, **metadata: str) -> bytes:
        moved = vector(1, FMT) + scale * (0.001 + vector(seed, FMT, 0.001))
        return write_weights(tmp_path / f"result-{seed}", FMT, moved, metadata).read_bytes()

    return make


@pytest.mark.parametrize("rule", Run.Rule.values)
def test_every_rule_merges_a_round(five, tmp_path, body, post_whole, rule):
    Run.objects.filter(pk=five.pk).update(rule=rule, clip_norms=True)
    tasks = deliver(five, [body(seed) for seed in range(2, 7)], post_whole)
    first = Round.objects.get(run=five, number=1)
    assert (first.state, first.rule, first.fallback) == (Round.State.PUBLISHED, rule, "")
    assert first.accepted == 5
    assert bool(first.lora_bias) == (rule != "krum"), "of one result alone there is none"
    moved = read(five, 2) - read(five, 1)
    assert 0.0009 < moved.mean() < 0.0011, "all updates lead by 0.001"
    weights = [fate(five, task).get("agirlik") for task in tasks]
    if rule in ("median", "trimmed_mean"):
        assert weights == [None] * 5
    else:
        assert sum(filter(None, weights)) == pytest.approx(1, abs=0.1)


def test_the_median_ignores_one_hostile_result(five, tmp_path, body, post_whole):
    Run.objects.filter(pk=five.pk).update(rule="median")
    bodies = [body(seed) for seed in range(2, 6)]
    deliver(five, [*bodies, body(6, scale=-1.0)], post_whole)
    moved = read(five, 2) - read(five, 1)
    assert moved.mean() > 0.0005


def test_too_few_results_fall_back_and_everybody_is_told(
    run, tmp_path, body, post_whole, caplog, client
):
    Run.objects.filter(pk=run.pk).update(rule="krum")
    with caplog.at_level(logging.WARNING, "coordination"):
        deliver(run, [body(2), body(3)], post_whole)
    first = Round.objects.get(run=run, number=1)
    assert first.rule == "mean"
    assert first.fallback == "krum needs 5 results against 1 hostile, 2 came"
    assert first.fallback in caplog.text
    told = client.get(f"/c/{run.slug}/durum").json()["gecmis"][0]
    assert (told["kural"], told["kural_nedeni"]) == ("mean", first.fallback)
    page = client.get(run.get_absolute_url(), follow=True).content.decode()
    assert "mean (too few results)" in page


def test_each_screened_result_is_told_why(tmp_path, body, post_whole):
    run = make_run(tmp_path, "seven", shards=7)
    bodies = [body(seed) for seed in range(2, 6)]
    unchanged = body(9, scale=0.0)
    tasks = deliver(run, [*bodies, unchanged, body(2), body(8, 3.0)], post_whole)
    told = [fate(run, task) for task in tasks]
    assert [t["durum"] for t in told] == ["birlesti"] * 4 + ["elendi"] * 3
    assert [t.get("kod") for t in told[4:]] == ["degismemis", "kopya", "norm_aykiri"]
    assert [t["agirlik"] for t in told[:4]] == [0.25] * 4
    first = Round.objects.get(run=run, number=1)
    assert (first.accepted, first.screened) == (4, 3)


def test_an_unchanged_snapshot_alone_reopens_the_round(tmp_path, body, post_whole):
    run = make_run(tmp_path, "one", shards=1)
    (task,) = deliver(run, [body(2, scale=0.0)], post_whole)
    assert fate(run, task) == {"durum": "elendi", "kod": "degismemis"}
    first = Round.objects.get(run=run)
    assert (first.state, first.reopenings) == (Round.State.OPEN, 1)
    assert WorkerOf(run, "worker-0").ask().status_code == 204, "barred from this unit"
    assert WorkerOf(run, "somebody-else").ask().status_code == 200


def test_a_result_of_an_earlier_round_is_a_copy(run, tmp_path, body, post_whole):
    stale = [body(2), body(3)]
    deliver(run, stale, post_whole)
    tasks = deliver(run, [stale[0], body(4)], post_whole, "replay")
    assert fate(run, tasks[0])["kod"] == "kopya"
    assert fate(run, tasks[1])["durum"] == "birlesti"


def test_sketches_are_kept_as_long_as_they_are_needed(run, tmp_path, body, post_whole):
    worker = WorkerOf(run, "first")
    post_whole(worker, worker.lease(), body(2))
    assert len(Result.objects.get().sketch or b"") == 16384
    deliver(run, [body(3)], post_whole)
    assert set(Result.objects.values_list("sketch", flat=True)) == {None}


@pytest.mark.parametrize(
    ("outer", "names"),
    [
        ("sgd", []),
        ("nesterov", ["momentum"]),
        ("adam", ["mean", "variance"]),
        ("yogi", ["mean", "variance"]),
    ],
)
def test_the_optimisers_state_goes_from_round_to_round(
    run, tmp_path, body, post_whole, outer, names
):
    Run.objects.filter(pk=run.pk).update(outer=outer, outer_lr=0.01)
    for number in (1, 2):
        seeds = (10 * number, 10 * number + 1)
        deliver(run, [body(seed) for seed in seeds], post_whole, f"r{number}")
    states = OuterState.objects.filter(snapshot__run=run)
    assert [s.name for s in states.filter(snapshot__number=3)] == names
    assert not states.filter(snapshot__number=1).exists()
    assert states.count() == 2 * len(names)
    assert all(is_named(state.sha256) for state in states), "the collector spares them"
    Snapshot.objects.filter(run=run, number=2).update(deleted_at="2026-01-01T00:00:00Z")
    assert not any(is_named(state.sha256) for state in states.filter(snapshot__number=2))


def test_tokens_weigh_no_more_than_a_task_holds(run, tmp_path, body, post_whole):
    Run.objects.filter(pk=run.pk).update(rule="token_mean")
    assert run.batch_size * run.seq_len * run.inner_steps == 64
    claims = [body(2, token="4000000000"), body(3, token="16")]
    tasks = deliver(run, claims, post_whole)
    assert [fate(run, task)["agirlik"] for task in tasks] == [0.8, 0.2]


def test_products_of_factors_can_be_averaged_exactly(run, tmp_path, body, post_whole):
    bodies = [body(2), body(3)]
    exact = make_run(tmp_path, "exact", exact_lora=True, outer="sgd")
    plain = make_run(tmp_path, "plain", outer="sgd")
    deliver(exact, bodies, post_whole)
    deliver(plain, bodies, post_whole)
    apart = np.abs(read(exact, 2) - read(plain, 2)).max()
    assert 0 < apart < 0.01


@pytest.mark.parametrize("rule", ["median", "trimmed_mean"])
def test_rules_without_shares_cannot_average_products(tmp_path, rule):
    with pytest.raises(ValidationError, match="cannot average products"):
        make_run(tmp_path, exact_lora=True, rule=rule)


def test_create_run_knows_how_to_merge(tmp_path):
    options = {
        "rule": "multi_krum",
        "byzantine_share": 0.3,
        "clip_norms": True,
        "exact_lora": True,
        "outer": "yogi",
        "outer_lr": 0.01,
        "outer_momentum": 0.9,
        "outer_beta2": 0.95,
        "outer_tau": 1e-4,
    }
    call_command("create_run", "rich", format=FMT.id, rounds=1, shards=1, **options, verbosity=0)
    run = Run.objects.get(slug="rich")
    assert {name: getattr(run, name) for name in options} == options
    plan = run.merge_plan
    assert (plan.rule.name, plan.byzantine_share, plan.clip, plan.exact) == (
        "multi_krum",
        0.3,
        True,
        True,
    )
    assert repr(plan.outer) == "Yogi(lr=0.01, beta1=0.9, beta2=0.95, tau=0.0001)"


def test_where_nobody_can_verify_a_new_run_takes_the_mean_unless_told_otherwise(db):
    own_data = {"format": FMT.id, "rounds": 1, "shards": 1, "verbosity": 0}
    call_command("create_run", "own-data", **own_data)
    call_command("create_run", "chosen", **own_data, rule="median")
    rules = dict(Run.objects.values_list("slug", "rule"))
    assert rules == {"own-data": "mean", "chosen": "median"}


def test_a_new_run_survives_hostile_results_unless_told_otherwise(tmp_path, body, post_whole):
    plain = Run()
    run = make_run(tmp_path, "robust", shards=7, rule=plain.rule, outer="sgd")
    assert (plain.rule, plain.byzantine_share, plain.clip_norms) == ("multi_krum", 0.3, False)
    assert run.byzantine_share == 0.3
    bodies = [body(seed) for seed in range(2, 7)]
    tasks = deliver(run, [*bodies, body(7, -0.6), body(8, -0.7)], post_whole)
    assert Round.objects.get(run=run, number=1).rule == "multi_krum"
    moved = read(run, 2) - read(run, 1)
    assert 0.0009 < moved.mean() < 0.0011
    weights = [fate(run, task).get("agirlik") for task in tasks]
    assert sum(weight or 0 for weight in weights[:5]) == pytest.approx(1)
    assert not any(weights[5:])


@pytest.mark.django_db(transaction=True)
def test_momenta_from_before_become_state_of_the_optimiser():
    before, after = [("coordination", "0002_identity")], [("coordination", "0003_merging")]
    newest = MigrationExecutor(connection).loader.graph.leaf_nodes()
    try:
        MigrationExecutor(connection).migrate(before)
        old = MigrationExecutor(connection).loader.project_state(before).apps
        run = old.get_model("coordination", "Run").objects.create(
            slug="old", rounds=2, shards=1, units_per_round=1, target_results=1
        )
        snapshots = old.get_model("coordination", "Snapshot").objects
        for number, momentum in ((1, ""), (2, "ab" * 32)):
            snapshots.create(
                run=run, number=number, sha256="cd", size=9, data_start=1, momentum_sha256=momentum
            )
        MigrationExecutor(connection).migrate(after)
        new = MigrationExecutor(connection).loader.project_state(after).apps
        states = new.get_model("coordination", "OuterState").objects
        found = states.values_list("snapshot__number", "name", "sha256")
        assert list(found) == [(2, "momentum", "ab" * 32)]
        kept = new.get_model("coordination", "Run").objects.get(slug="old")
        assert (kept.rule, kept.clip_norms) == ("mean", False), "it merges as it always did"
        MigrationExecutor(connection).migrate(before)
        again = old.get_model("coordination", "Snapshot").objects.order_by("number")
        assert list(again.values_list("momentum_sha256", flat=True)) == ["", "ab" * 32]
    finally:
        MigrationExecutor(connection).migrate(newest)


def test_what_was_verified_is_trusted_and_weighs_more(tmp_path, body, post_whole):
    run = make_run(tmp_path, "trust", shards=4, trust_weights=True, min_results=4)
    for number in range(4):
        worker = WorkerOf(run, f"worker-{number}")
        post_whole(worker, worker.lease(), body(number + 2))
    results = list(Result.objects.filter(lease__unit__round__run=run).order_by("unit__shard"))
    Check.objects.filter(result__in=results).delete()
    Check.objects.create(result=results[0], state=Check.State.VALID, reason="unproven")
    Check.objects.create(result=results[1], state=Check.State.WAIVED, reason="unproven")
    Worker.objects.filter(pk=results[2].lease.worker_id).update(consecutive_valid=10)
    results = list(Result.objects.filter(pk__in=[r.pk for r in results]).order_by("unit__shard"))

    verified, waived, passed, unknown = contributions(run, results)

    assert [part.trusted for part in (verified, waived, passed, unknown)] == [True, False] * 2
    assert (verified.weight, waived.weight, unknown.weight) == (1.0, 0.5, 0.5)
    assert passed.weight == pytest.approx(11 / 12)
    run.trust_weights = run.verify = False
    assert {part.weight for part in contributions(run, results)} == {1.0}
    assert not any(part.trusted for part in contributions(run, results))
