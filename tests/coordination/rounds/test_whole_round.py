"""A run from its first lease to its last snapshot, by the verbs and the protocol alone."""

import hashlib

import numpy as np
import pytest

from coordination.models import Lease, Result, Round, Run, Snapshot, Unit
from coordination.rounds.reconcile import reconcile
from coordination.storage import snapshot_vector
from tests.coordination.making import WorkerOf, make_run, vector
from worker_client.contract.formats import load_format

pytestmark = pytest.mark.django_db


def _read(snapshot: Snapshot) -> np.ndarray:
    stored = snapshot_vector(snapshot)
    return stored.read(0, stored.count).copy()


def test_two_results_become_the_next_snapshot(run, result_file, post_whole):
    tasks = []
    for name, seed in (("ada", 2), ("bob", 3)):
        worker = WorkerOf(run, name)
        task = worker.lease()
        answer = post_whole(worker, task, result_file(seed, kayip_son="2.5"))
        assert answer.status_code == 200, answer.content
        tasks.append(task)
    assert sorted(task["parca"] for task in tasks) == [0, 1]
    reconcile()

    first, second = Round.objects.filter(run=run)
    assert first.state == Round.State.PUBLISHED and first.accepted == 2 and first.loss == 2.5
    assert second.state == Round.State.OPEN and second.number == 2
    fmt = load_format(run.format)
    w = vector(1, fmt)
    moved = [(w + vector(seed, fmt, 0.001)).astype(np.float32) for seed in (2, 3)]
    mean = np.mean(np.stack(moved).astype(np.float64), axis=0).astype(np.float32)
    g = w - mean
    expected = w - (g + np.float32(0.5) * g)
    np.testing.assert_allclose(_read(Snapshot.objects.get(run=run, number=2)), expected, atol=1e-7)
    assert set(Result.objects.values_list("state", flat=True)) == {Result.State.MERGED}


@pytest.mark.django_db(transaction=True)
def test_a_result_is_accepted_while_the_broker_is_away(
    tmp_path, broker_away, post_whole, result_file
):
    worker = WorkerOf(make_run(tmp_path, "alone", shards=1))
    assert post_whole(worker, worker.lease(), result_file(2)).status_code == 200
    assert Round.objects.get().state == Round.State.MERGING


def test_the_last_round_finishes_the_run_and_its_snapshot_stays(
    tmp_path, run, post_whole, result_file
):
    Run.objects.filter(pk=run.pk).update(rounds=1)
    for name, seed in (("ada", 2), ("bob", 3)):
        worker = WorkerOf(run, name)
        post_whole(worker, worker.lease(), result_file(seed))
    reconcile()
    run.refresh_from_db()
    assert run.state == Run.State.FINISHED
    worker = WorkerOf(run)
    assert worker.ask().status_code == 410
    last = worker.http.get(f"/c/{run.slug}/adaptor?tur=2")
    body = last.getvalue()
    assert last.headers["ETag"] == f'"{hashlib.sha256(body).hexdigest()}"'
    status = worker.http.get(f"/c/{run.slug}/durum").json()
    assert status["durum"] == "bitti"
    assert status["gecmis"][0]["sha256"] == hashlib.sha256(body).hexdigest()


def test_merging_twice_gives_the_same_snapshot_once(run, result_file, post_whole):
    from coordination.rounds.merge import merge_closed_round

    for name, seed in (("ada", 2), ("bob", 3)):
        worker = WorkerOf(run, name)
        post_whole(worker, worker.lease(), result_file(seed))
    first = Round.objects.get(run=run, number=1)
    assert first.state == Round.State.MERGING
    assert merge_closed_round(first.pk) is True
    assert merge_closed_round(first.pk) is False
    assert Snapshot.objects.filter(run=run).count() == 2


def test_an_expired_lease_frees_its_unit_and_its_late_result_still_counts(
    run, worker, result_file, post_whole
):
    task = worker.lease()
    Lease.objects.update(expires_at="2020-01-01T00:00:00Z")
    reconcile()
    assert Unit.objects.filter(state=Unit.State.FREE).count() == 2
    assert post_whole(worker, task, result_file()).status_code == 200
    assert Lease.objects.get().state == Lease.State.DELIVERED
    assert Unit.objects.filter(state=Unit.State.DONE).count() == 1


def test_a_round_past_its_deadline_closes_with_the_minimum(run, worker, result_file, post_whole):
    post_whole(worker, worker.lease(), result_file())
    reconcile()
    assert Round.objects.get(run=run).state == Round.State.OPEN
    Round.objects.update(deadline_at="2020-01-01T00:00:00Z")
    reconcile()  # closes
    reconcile()  # merges, as the lost message would have
    assert Round.objects.get(run=run, number=1).state == Round.State.PUBLISHED
