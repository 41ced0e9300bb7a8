"""What a result weighs in the merge when the run goes by trust."""

import pytest

from coordination.clock import now
from coordination.models import Check, Result, Round, Run, Worker
from coordination.rounds.merge import contributions
from coordination.rounds.reconcile import reconcile
from tests.coordination.making import WorkerOf

pytestmark = pytest.mark.django_db


@pytest.fixture
def standing(run, post_whole, result_file) -> list[Result]:
    """Two results: one that was repeated, one of a worker with three valid checks."""
    for name, seed in (("ada", 2), ("bob", 3)):
        worker = WorkerOf(run, name)
        post_whole(worker, worker.lease(), result_file(seed))
    first, second = Result.objects.order_by("pk")
    Check.objects.filter(result=first).update(state=Check.State.VALID, decided_at=now())
    Worker.objects.filter(pk=second.lease.worker_id).update(consecutive_valid=3)
    return list(Result.objects.order_by("pk"))


def test_every_result_weighs_the_same_unless_the_run_says_otherwise(run, standing):
    assert [one.weight for one in contributions(run, standing)] == [1.0, 1.0]


def test_what_was_repeated_weighs_most(run, standing):
    run.trust_weights = True
    assert [one.weight for one in contributions(run, standing)] == [1.0, pytest.approx(4 / 5)]


def test_the_merge_goes_by_it(run, standing):
    Run.objects.update(trust_weights=True)
    reconcile()
    assert Round.objects.get(number=1).state == Round.State.PUBLISHED
    shares = list(Result.objects.order_by("pk").values_list("weight", flat=True))
    assert shares == [pytest.approx(5 / 9), pytest.approx(4 / 9)]
