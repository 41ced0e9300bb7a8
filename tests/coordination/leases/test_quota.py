"""A worker whose tasks come to nothing gets fewer for a while, and never none."""

import pytest

from coordination.leases.expire import expire_leases
from coordination.models import Lease, Unit, Worker
from coordination.trust.record import QUOTA
from tests.coordination.making import WorkerOf, make_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def broken(tmp_path) -> WorkerOf:
    return WorkerOf(make_run(tmp_path, shards=4, verify=False), "broken")


def _quota() -> int:
    return Worker.objects.get(name="broken").quota


def _fail(worker: WorkerOf, post_whole) -> None:
    assert post_whole(worker, worker.lease(), b"not a result").status_code == 400


def test_it_halves_with_a_refused_result_and_doubles_with_an_accepted_one(
    broken, post_whole, result_file
):
    _fail(broken, post_whole)
    _fail(broken, post_whole)
    assert _quota() == QUOTA.full // 4
    post_whole(broken, broken.lease(), result_file())
    assert _quota() == QUOTA.full // 2


def test_it_halves_with_an_expired_lease(broken):
    broken.lease()
    Lease.objects.update(expires_at="2020-01-01T00:00:00Z")
    expire_leases()
    assert _quota() == QUOTA.full // 2


def test_the_same_bad_bytes_count_once(broken, post_whole):
    task = broken.lease()
    for _ in range(3):
        assert post_whole(broken, task, b"not a result").status_code == 400
    assert _quota() == QUOTA.full // 2


def test_a_result_that_came_too_late_is_no_error(broken, post_whole, result_file):
    task = broken.lease()
    Lease.objects.update(state=Lease.State.EXPIRED)
    Unit.objects.update(state=Unit.State.FREE)
    other = WorkerOf(broken.run, "other")
    post_whole(other, other.lease(), result_file(2))
    answer = post_whole(broken, task, result_file(3))
    assert answer.json()["kod"] == "gorev_dolu"
    assert _quota() == QUOTA.full


def test_who_has_used_it_up_waits_and_is_told_so(broken, post_whole, result_file):
    _fail(broken, post_whole)
    Worker.objects.filter(name="broken").update(quota=2)
    post_whole(broken, broken.lease(), b"nor this")
    assert _quota() == 1
    answer = broken.ask()
    assert (answer.status_code, answer.json()["kod"]) == (409, "isci_mesgul")
    assert answer.json()["tekrar"] is True and int(answer.headers["Retry-After"]) > 0
    # An hour later there is a task again, and one good result brings back more.
    Lease.objects.update(granted_at="2020-01-01T00:00:00Z")
    assert post_whole(broken, broken.lease(), result_file()).status_code == 200
    assert _quota() == 2
    assert broken.ask().status_code == 200


def test_a_clock_that_is_set_back_locks_nobody_out(broken):
    broken.lease()
    Worker.objects.filter(name="broken").update(quota=1)
    Lease.objects.update(state=Lease.State.EXPIRED)
    assert broken.ask().json()["kod"] == "isci_mesgul"
    Lease.objects.update(granted_at="2120-01-01T00:00:00Z")
    assert broken.ask().status_code == 200


def test_a_worker_without_errors_is_not_counted(broken, post_whole, result_file):
    Worker.objects.create(run=broken.run, name="good", quota=QUOTA.full)
    good = WorkerOf(broken.run, "good")
    for seed in range(3):
        assert post_whole(good, good.lease(), result_file(seed + 2)).status_code == 200
