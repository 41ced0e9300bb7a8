"""A round with its quorum waits as long as its own results say, and no longer."""

from datetime import timedelta

import pytest

from coordination.clock import now
from coordination.models import Result, Round, Run
from coordination.rounds.grace import grace_end
from coordination.rounds.reconcile import reconcile
from tests.coordination.making import WorkerOf, make_run


@pytest.mark.parametrize(
    ("arrivals", "factor", "end"),
    [
        ([100, 110, 120, 130, 140], 5, 170),  # median 120, deviation 10
        ([100, 110, 120, 130, 9000], 5, 170),  # one that came very late moves nothing
        ([100, 100, 100], 4, 120),  # all at once: a twentieth of the median stands in
        ([60], 2, 66),
        ([100, 300], 0, 200),
    ],
)
def test_it_ends_so_many_deviations_after_the_median(arrivals, factor, end):
    assert grace_end(arrivals, factor) == pytest.approx(end)


def _deliver(run: Run, post_whole, result_file, count: int) -> None:
    for n in range(count):
        worker = WorkerOf(run, f"worker-{n}")
        assert post_whole(worker, worker.lease(), result_file(n + 2)).status_code == 200


def _age(run: Run, seconds: float, *arrivals: float) -> None:
    """As if the round had opened ``seconds`` ago and its results had come at ``arrivals``."""
    opened = now() - timedelta(seconds=seconds)
    Round.objects.filter(run=run).update(opened_at=opened)
    for result, arrival in zip(Result.objects.order_by("pk"), arrivals, strict=True):
        result.created_at = opened + timedelta(seconds=arrival)
        result.save(update_fields=["created_at"])
    reconcile()


@pytest.fixture
def quorate(db, tmp_path) -> Run:
    return make_run(tmp_path, shards=5, quorum=3, grace_factor=5.0, verify=False)


def test_a_quorum_closes_the_round_when_the_grace_is_over(quorate, post_whole, result_file):
    _deliver(quorate, post_whole, result_file, 3)
    _age(quorate, 149, 90, 100, 110)
    assert Round.objects.get().state == Round.State.OPEN
    _age(quorate, 151, 90, 100, 110)
    assert Round.objects.get().state == Round.State.MERGING


def test_without_its_quorum_a_round_waits_for_its_deadline(quorate, post_whole, result_file):
    _deliver(quorate, post_whole, result_file, 2)
    _age(quorate, 3000, 1, 2)
    assert Round.objects.get().state == Round.State.OPEN


def test_no_quorum_no_grace(quorate, post_whole, result_file):
    Run.objects.update(quorum=None)
    _deliver(quorate, post_whole, result_file, 4)
    _age(quorate, 3000, 1, 1, 2, 2)
    assert Round.objects.get().state == Round.State.OPEN
