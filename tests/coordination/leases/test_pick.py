"""Retries to proven fast workers, and a second lease for a straggler's shard."""

from datetime import timedelta

import pytest

from coordination.clock import now
from coordination.leases.expire import expire_leases
from coordination.models import Lease, Result, Round, Run, Unit, Worker
from coordination.rounds.reconcile import reconcile
from tests.coordination.making import WorkerOf, make_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(tmp_path) -> Run:
    return make_run(tmp_path, shards=2, verify=False, max_leases_per_worker=2)


def _near_deadline(run: Run, seconds: float = 60) -> None:
    Round.objects.filter(run=run).update(deadline_at=now() + timedelta(seconds=seconds))


def _proven(worker: WorkerOf, task_seconds: float) -> None:
    Worker.objects.filter(name=worker.name).update(
        consecutive_valid=10, task_seconds=task_seconds, last_seen_at=now()
    )


class TestRetries:
    @pytest.fixture
    def failed(self, run) -> int:
        """The shard on which a worker has failed; the other one is untouched."""
        gone = WorkerOf(run, "gone")
        shard = gone.lease()["parca"]
        Lease.objects.update(expires_at="2020-01-01T00:00:00Z")
        expire_leases()
        return shard

    @pytest.fixture
    def fast(self, run) -> WorkerOf:
        Worker.objects.create(run=run, name="fast", last_seen_at=now())
        Worker.objects.create(run=run, name="slow", last_seen_at=now(), task_seconds=100)
        fast = WorkerOf(run, "fast")
        _proven(fast, 10)
        return fast

    def test_a_proven_fast_worker_gets_the_retry(self, failed, fast):
        assert fast.lease()["parca"] == failed

    def test_while_one_is_around_others_get_fresh_work_first(self, run, failed, fast):
        assert WorkerOf(run, "new").lease()["parca"] != failed

    def test_a_proven_slow_one_is_no_better_than_a_new_one(self, run, failed, fast):
        slow = WorkerOf(run, "slow")
        _proven(slow, 100)
        assert slow.lease()["parca"] != failed

    def test_with_nobody_proven_the_order_is_as_ever(self, run, failed):
        assert WorkerOf(run, "new").lease()["parca"] == failed == 0

    def test_a_retry_is_not_kept_from_the_only_one_who_asks(self, run, failed, fast):
        new = WorkerOf(run, "new")
        assert {new.lease()["parca"], new.lease()["parca"]} == {0, 1}


class TestStragglers:
    @pytest.fixture
    def straggler(self, run) -> WorkerOf:
        return WorkerOf(run, "slow")

    @pytest.fixture(autouse=True)
    def held(self, straggler) -> list[dict]:
        """Both shards are in the straggler's hands."""
        return [straggler.lease(), straggler.lease()]

    def test_far_from_the_deadline_a_shard_in_work_is_leased_once(self, run, straggler):
        assert WorkerOf(run, "bob").ask().status_code == 204

    def test_near_it_the_shard_held_longest_is_leased_once_more(self, run, straggler):
        _near_deadline(run)
        bob, cem = WorkerOf(run, "bob"), WorkerOf(run, "cem")
        assert [bob.lease()["parca"], cem.lease()["parca"]] == [0, 1]
        assert WorkerOf(run, "dora").ask().status_code == 204
        assert Lease.objects.filter(state=Lease.State.LIVE, is_backup=True).count() == 2

    def test_nobody_competes_with_themselves(self, run, straggler):
        Run.objects.update(max_leases_per_worker=9)
        _near_deadline(run)
        assert straggler.ask().status_code == 204

    def test_the_run_says_how_near(self, run, straggler):
        bob = WorkerOf(run, "bob")
        Run.objects.update(backup_seconds=120)
        _near_deadline(run, 130)
        assert bob.ask().status_code == 204
        _near_deadline(run, 110)
        assert bob.ask().status_code == 200
        Run.objects.update(backup_seconds=0)
        assert WorkerOf(run, "cem").ask().status_code == 204

    @pytest.mark.parametrize("first", ["slow", "bob"])
    def test_the_first_valid_result_wins(
        self, run, straggler, held, post_whole, result_file, first
    ):
        _near_deadline(run)
        bob = WorkerOf(run, "bob")
        theirs = bob.lease()
        assert theirs["parca"] == held[0]["parca"]
        both = {"slow": (straggler, held[0]), "bob": (bob, theirs)}
        winner, loser = both.pop(first), both.popitem()[1]
        assert post_whole(*winner, result_file(2)).status_code == 200
        assert loser[0].report(loser[1]).json() == {"devam": False}
        answer = post_whole(*loser, result_file(3))
        assert (answer.status_code, answer.json()["kod"]) == (409, "gorev_dolu")
        assert Result.objects.filter(unit__shard=theirs["parca"], holds_unit=True).count() == 1

    def test_the_shard_is_free_only_when_both_leases_have_ended(self, run, straggler):
        _near_deadline(run)
        bob = WorkerOf(run, "bob")
        shard = bob.lease()["parca"]
        unit = Unit.objects.get(shard=shard)
        for is_backup in (False, True):
            assert Unit.objects.get(pk=unit.pk).state == Unit.State.LEASED
            Lease.objects.filter(unit=unit, is_backup=is_backup).update(
                expires_at="2020-01-01T00:00:00Z"
            )
            reconcile()
        assert Unit.objects.get(pk=unit.pk).state == Unit.State.FREE
