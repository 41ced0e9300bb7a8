"""Requests that meet in the same instant, each in a thread with its own database connection."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from coordination.clock import now
from coordination.leases.expire import expire_leases
from coordination.models import (
    Lease,
    RefusalCount,
    Result,
    Round,
    RoundTally,
    Run,
    Snapshot,
    Unit,
    Worker,
    WorkerTraffic,
)
from coordination.rounds.close import close_if_ready
from coordination.rounds.merge import merge_closed_round
from coordination.rounds.pause import pause_run, resume_run
from coordination.tallies.gather import Gathered, write
from tests.at_once import at_once
from tests.coordination.making import WorkerOf, make_run

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def wide(tmp_path: Path) -> Run:
    return make_run(tmp_path, shards=6, max_leases_per_address=100)


@pytest.fixture
def single(tmp_path: Path) -> Run:
    return make_run(tmp_path, shards=1)


@pytest.fixture
def closed(tmp_path: Path, post_whole, result_file) -> Round:
    """Round 1 with both results in, waiting for a merge."""
    run = make_run(tmp_path)
    for name, seed in (("ada", 2), ("bob", 3)):
        worker = WorkerOf(run, name)
        assert post_whole(worker, worker.lease(), result_file(seed)).status_code == 200
    return Round.objects.get(run=run)


def test_a_unit_is_leased_to_one_of_many_who_ask(wide):
    workers = [WorkerOf(wide, f"worker-{n}") for n in range(9)]
    answers = at_once([worker.ask for worker in workers])
    assert sorted(answer.status_code for answer in answers) == [200] * 6 + [204] * 3
    leased = [answer.json()["parca"] for answer in answers if answer.status_code == 200]
    assert sorted(leased) == list(range(6))
    assert Unit.objects.filter(state=Unit.State.LEASED).count() == 6


def test_a_request_sent_twice_at_once_leaks_no_lease(wide):
    worker = WorkerOf(wide)
    answers = at_once([lambda: worker.ask("0" * 32)] * 4)
    assert {answer.status_code for answer in answers} == {200}
    assert len({(answer.json()["gorev"], answer.json()["anahtar"]) for answer in answers}) == 1
    assert Lease.objects.count() == 1


def test_one_of_two_results_for_a_unit_wins(single, post_whole, result_file):
    slow, quick = WorkerOf(single, "slow"), WorkerOf(single, "quick")
    first = slow.lease()
    Lease.objects.update(state=Lease.State.EXPIRED)
    Unit.objects.update(state=Unit.State.FREE)
    second = quick.lease()
    files = result_file(2), result_file(3)
    answers = at_once(
        [
            lambda: post_whole(slow, first, files[0]),
            lambda: post_whole(quick, second, files[1]),
        ]
    )
    assert sorted(answer.status_code for answer in answers) == [200, 409]
    (lost,) = (answer.json() for answer in answers if answer.status_code == 409)
    assert lost["kod"] in ("gorev_dolu", "tur_kapandi")
    assert Result.objects.filter(holds_unit=True).count() == 1


def test_the_same_bytes_sent_twice_at_once_are_accepted_twice_and_count_once(
    single, worker_of_single, post_whole, result_file
):
    task, body = worker_of_single.lease(), result_file()
    answers = at_once([lambda: post_whole(worker_of_single, task, body)] * 4)
    assert [answer.status_code for answer in answers] == [200] * 4
    assert Result.objects.count() == 1


@pytest.fixture
def worker_of_single(single: Run) -> WorkerOf:
    return WorkerOf(single)


def test_the_last_two_results_close_the_round_once(tmp_path, post_whole, result_file):
    run = make_run(tmp_path)
    workers = [WorkerOf(run, name) for name in ("ada", "bob")]
    tasks = [worker.lease() for worker in workers]
    files = result_file(2), result_file(3)
    answers = at_once(
        [
            lambda: post_whole(workers[0], tasks[0], files[0]),
            lambda: post_whole(workers[1], tasks[1], files[1]),
        ]
    )
    assert [answer.status_code for answer in answers] == [200, 200]
    only = Round.objects.get(run=run)
    assert (only.state, only.attempt, len(only.participants)) == (Round.State.MERGING, 1, 2)


def test_a_round_is_closed_once_however_many_try(closed):
    Round.objects.update(state=Round.State.OPEN, attempt=0)
    assert sorted(at_once([lambda: close_if_ready(closed.pk)] * 4)) == [False] * 3 + [True]
    assert Round.objects.get().attempt == 1


def test_two_mergers_publish_once(closed):
    assert sorted(at_once([lambda: merge_closed_round(closed.pk)] * 2)) == [False, True]
    assert Snapshot.objects.filter(run=closed.run).count() == 2
    assert Round.objects.filter(run=closed.run).count() == 2
    assert Unit.objects.filter(round__number=2).count() == 2


def test_one_worker_asks_reports_and_delivers_at_once(tmp_path, post_whole, result_file):
    run = make_run(tmp_path, shards=6, max_leases_per_worker=100, max_leases_per_address=100)
    worker, body = WorkerOf(run), result_file()
    for _ in range(3):
        held, delivered = worker.lease(), worker.lease()
        reporting = [partial(worker.report, held)] * 3
        delivering = partial(post_whole, worker, delivered, body)
        asking = [partial(worker.ask)] * 3
        answers = at_once([*reporting, delivering, *asking])
        assert {answer.status_code for answer in answers} <= {200, 204}
        Lease.objects.filter(state=Lease.State.LIVE).update(state=Lease.State.EXPIRED)
        Unit.objects.filter(state=Unit.State.LEASED).update(state=Unit.State.FREE)


def test_a_run_is_resumed_while_results_arrive(wide, post_whole, result_file):
    workers = [WorkerOf(wide, f"worker-{n}") for n in range(5)]
    tasks, body = [worker.lease() for worker in workers], result_file()
    assert pause_run(wide, "a look at the data")
    deliveries = [
        partial(post_whole, worker, task, body) for worker, task in zip(workers, tasks, strict=True)
    ]
    *answers, resumed = at_once([*deliveries, partial(resume_run, wide)])
    assert [answer.status_code for answer in answers] == [200] * 5 and resumed
    assert Result.objects.filter(holds_unit=True).count() == 5


def test_counts_are_written_while_leases_run_out_and_none_is_lost(wide):
    workers = [WorkerOf(wide, f"worker-{n}") for n in range(6)]
    for worker in workers:
        worker.lease()
    ids = list(Worker.objects.values_list("pk", flat=True))

    def counted(met: list[int]) -> Gathered:
        """What a process saw that met these workers in this order."""
        seen = Gathered()
        for pk in met:
            seen.runs.add(wide.pk, 1, 2)
            seen.rounds.add((wide.pk, 1), 1, 2)
            seen.workers.add(pk, 1, 2)
        seen.refusals[wide.pk, "mesgul"] = 1
        return seen

    Lease.objects.update(expires_at=now() - timedelta(seconds=1))
    flushes = [partial(write, counted(met)) for met in (ids, ids[::-1], ids[3:] + ids[:3])]
    asking = [partial(worker.ask) for worker in workers[:3]]
    calls: list[Callable[[], object]] = [*flushes, expire_leases, expire_leases, *asking]
    at_once(calls)
    tally = RoundTally.objects.get()
    assert (tally.bytes_up, tally.bytes_down, tally.expired) == (18, 36, 6)
    assert set(WorkerTraffic.objects.values_list("bytes_up", "bytes_down")) == {(3, 6)}
    assert RefusalCount.objects.get(code="mesgul").count == 3
    wide.refresh_from_db()
    assert (wide.bytes_up, wide.bytes_down) == (18, 36)
