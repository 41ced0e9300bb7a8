"""What a round took is measured when it is published."""

from datetime import timedelta

import pytest

from coordination.clock import now
from coordination.leases.expire import expire_leases
from coordination.models import Check, Lease, Result, Round, RoundTally
from coordination.rounds.reconcile import reconcile
from coordination.tallies.measure import measure
from tests.coordination.making import WorkerOf, make_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(tmp_path):
    return make_run(tmp_path, shards=3, target_results=3)


def deliver(run, post_whole, name: str, body: bytes) -> None:
    worker = WorkerOf(run, name)
    post_whole(worker, worker.lease(), body)


def test_a_published_round_keeps_its_measures(run, result_file, post_whole):
    deliver(run, post_whole, "ada", result_file(2, token="64", cihaz="cpu, 8 threads"))
    deliver(run, post_whole, "bob", result_file(3, token="999999", cihaz="NVIDIA H200"))
    deliver(run, post_whole, "eve", b"no safetensors at all")
    deliver(run, post_whole, "cem", result_file(4))
    assert not RoundTally.objects.filter(workers__isnull=False).exists()
    reconcile()
    tally = RoundTally.objects.get(round__number=1)
    assert tally.tokens == 64 + 64, "no more than a task of 2 steps of 2 rows of 16 tokens can have"
    assert (tally.workers, tally.cpu_workers, tally.gpu_workers) == (4, 1, 1)
    assert tally.refused == 1
    checks = (tally.checks_valid, tally.checks_invalid, tally.checks_unverified)
    assert checks == (0, 0, 3), "nobody could repeat them"
    assert measure(tally.round) == {name: getattr(tally, name) for name in measure(tally.round)}


def test_checks_are_counted_by_their_end(run, result_file, post_whole):
    for seed, name in enumerate(("ada", "bob", "cem"), start=2):
        deliver(run, post_whole, name, result_file(seed))
    states = (Check.State.VALID, Check.State.INVALID, Check.State.PENDING)
    for check, state in zip(Check.objects.order_by("pk"), states, strict=True):
        Check.objects.filter(pk=check.pk).update(state=state)
    measured = measure(Round.objects.get())
    assert (measured["checks_valid"], measured["checks_invalid"]) == (1, 1)
    assert measured["checks_unverified"] == 0, "one is still under check"


def test_a_lease_that_runs_out_is_counted_and_one_that_is_let_go_is_not(
    run, result_file, post_whole
):
    late, early = WorkerOf(run, "late"), WorkerOf(run, "early")
    task = late.lease()
    early.lease()
    Lease.objects.filter(token=task["gorev"]).update(expires_at=now() - timedelta(seconds=1))
    assert expire_leases() == 1
    assert RoundTally.objects.get().expired == 1
    Round.objects.update(deadline_at=now() - timedelta(seconds=1))
    deliver(run, post_whole, "ada", result_file())
    reconcile()
    assert Lease.objects.filter(state=Lease.State.EXPIRED).count() == 2
    assert RoundTally.objects.get(round__number=1).expired == 1
    assert Result.objects.count() == 1
