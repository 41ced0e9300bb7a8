"""A result under check: who repeats it, what holds it out of the merge, and what a verdict does."""

import pytest

from coordination.leases.expire import expire_leases
from coordination.models import Check, Lease, Result, Round, Run, Unit, Worker
from coordination.rounds.reconcile import reconcile
from coordination.verification.verifiers import can_be_repeated
from tests.coordination.making import make_run
from tests.coordination.verification.conftest import (
    NOISE,
    OTHER_NOISE,
    all_leave,
    check_of,
    pass_deadline,
    register,
    trained,
)
from worker_client.contract.encodings import CODECS

pytestmark = pytest.mark.django_db

TRAINING = (
    *("tur", "tur_sayisi", "ic_adim", "bs", "seq", "lr", "tohum", "parca", "n_parca", "mod"),
    *("bicim", "recete", "taban_model", "belirtec_sha256", "kodlama", "adaptor", "veri"),
)


def _round(run: Run) -> Round:
    return Round.objects.get(run=run, number=1)


def test_a_result_is_held_out_of_the_merge_until_somebody_has_repeated_it(single, trio):
    ada, bob, _ = trio
    ada.work()
    assert _round(single).state == Round.State.OPEN
    assert check_of(single).state == Check.State.PENDING
    bob.work()
    assert check_of(single).state == Check.State.VALID
    assert _round(single).state == Round.State.MERGING
    assert _round(single).participants == [trained(single).pk]
    reconcile()
    assert _round(single).state == Round.State.PUBLISHED
    assert _round(single).accepted == 1


def test_a_check_carries_the_fields_of_the_training_it_repeats(single, trio):
    ada, bob, _ = trio
    trained_task, task = ada.work(), bob.lease()
    assert (task["is"], trained_task["is"]) == ("dogrula", "egit")
    assert task["hedef"] == {name: trained_task[name] for name in TRAINING}
    assert task["gorev"] != trained_task["gorev"] and "hedef" not in trained_task


def test_neither_the_author_nor_its_address_repeats_a_result(single, trio, volunteer):
    ada, bob, _ = trio
    ada.work()
    neighbour = volunteer(single, "neighbour", 2)
    assert ada.ask().status_code == neighbour.ask().status_code == 204
    assert bob.ask().json()["is"] == "dogrula"


def test_only_who_names_the_job_gets_it(single, trio):
    ada, bob, _ = trio
    ada.work()
    assert bob.ask(isler=["egit"]).status_code == 204
    assert bob.ask(isler=["dogrula"]).status_code == 200


def test_a_verifier_is_told_no_byte_of_the_authors(single, trio):
    ada, bob, _ = trio
    ada.work()
    told = bob.ask().content.decode()
    result = trained(single)
    assert result.sha256 not in told and result.vector_sha256 not in told
    assert result.lease.token not in told


def test_noise_is_left_out_when_two_agree_against_it(single, trio):
    ada, bob, cem = trio
    register(ada, bob, cem)
    Worker.objects.filter(pk=ada.row.pk).update(consecutive_valid=9, checks_valid=9)
    task = ada.work(NOISE)
    bob.work()
    assert check_of(single).state == Check.State.PENDING  # it may be bob who is wrong
    assert ada.ask().status_code == bob.ask().status_code == 204
    cem.work()

    check = check_of(single)
    assert check.state == Check.State.INVALID and check.decided_at
    result = trained(single)
    assert (result.state, result.holds_unit) == (Result.State.SCREENED, False)
    assert ada.sonuc(task, "get").json() == {"durum": "elendi", "kod": "dogrulama_tutmadi"}
    assert (ada.row.consecutive_valid, ada.row.checks_invalid) == (0, 1)
    assert ada.row.quota < bob.row.quota
    assert (bob.row.checks_invalid, cem.row.checks_invalid) == (0, 0)
    # The shard is free again for anybody else, and the round goes on without the noise.
    assert ada.ask().status_code == 204
    again = bob.lease()
    assert (again["is"], again["parca"]) == ("egit", task["parca"])
    bob.send(again)
    cem.work()
    assert _round(single).participants == [Result.objects.get(lease__token=again["gorev"]).pk]


def test_every_repetition_leaves_evidence(single, trio):
    ada, bob, cem = trio
    ada.work(NOISE)
    bob.work()
    cem.work()
    first, second, third = check_of(single).evidence
    assert first["workers"] == ["ada", "bob"] and not first["agrees"]
    assert second["workers"] == ["ada", "cem"] and not second["agrees"]
    assert third["workers"] == ["bob", "cem"] and third["agrees"]
    # Unrelated updates of one length are sqrt(2) apart and at right angles.
    assert first["relative"] == pytest.approx(2**0.5, abs=0.1)
    assert abs(first["cosine"]) < 0.1
    assert (third["relative"], third["cosine"]) == (0.0, pytest.approx(1.0))
    assert first["dtypes"] == ["float32", "float32"] and 0 < first["tolerance"] < 1


def test_a_verifier_who_lies_is_outvoted_and_loses_its_standing(single, trio):
    ada, bob, cem = trio
    register(ada, bob, cem)
    Worker.objects.filter(pk=bob.row.pk).update(consecutive_valid=9)
    ada.work()
    bob.work(NOISE)
    cem.work()
    assert check_of(single).state == Check.State.VALID
    assert ada.row.consecutive_valid == 1
    assert (bob.row.consecutive_valid, bob.row.checks_invalid) == (0, 1)
    assert _round(single).participants == [trained(single).pk]


def test_when_all_three_differ_the_result_is_left_out_and_nobody_is_blamed(single, trio):
    ada, bob, cem = trio
    register(ada, bob, cem)
    task = ada.work()
    bob.work(NOISE)
    cem.work(OTHER_NOISE)
    assert check_of(single).state == Check.State.UNDECIDED
    assert ada.sonuc(task, "get").json() == {"durum": "denetlenemedi"}
    assert [someone.row.checks_invalid for someone in trio] == [0, 0, 0]
    assert Unit.objects.get(job=Unit.Job.TRAIN).state == Unit.State.FREE


@pytest.mark.parametrize(("proven", "state"), [("ada", "valid"), ("bob", "invalid")])
def test_with_no_third_to_ask_the_proven_ones_word_stands(single, volunteer, proven, state):
    ada, bob = volunteer(single, "ada", 2), volunteer(single, "bob", 3)
    register(ada, bob)
    Run.objects.update(check_floor=1.0)
    Worker.objects.filter(name=proven).update(consecutive_valid=10)
    ada.work()
    bob.work(NOISE)
    assert check_of(single).state == state


def test_two_strangers_who_differ_cancel_out(single, volunteer):
    ada, bob = volunteer(single, "ada", 2), volunteer(single, "bob", 3)
    ada.work()
    bob.work(NOISE)
    assert check_of(single).state == Check.State.UNDECIDED


def test_an_owned_name_earns_trust_and_a_strangers_does_not(single, trio):
    ada, bob, _ = trio
    ada.work()
    bob.work()
    assert (ada.row.consecutive_valid, ada.row.checks_valid) == (0, 1)
    reconcile()
    register(ada)
    ada.work()
    bob.work()
    assert (ada.row.consecutive_valid, ada.row.checks_valid) == (1, 2)


def test_a_proven_workers_result_counts_at_once_unless_drawn(single, trio):
    ada, *_ = trio
    register(ada)
    Run.objects.update(check_floor=0.0)
    Worker.objects.filter(name="ada").update(consecutive_valid=10**9)
    ada.work()
    assert not Check.objects.exists()
    assert _round(single).state == Round.State.MERGING


def test_the_floor_of_one_checks_even_the_proven(single, trio):
    ada, *_ = trio
    register(ada)
    Run.objects.update(check_floor=1.0)
    Worker.objects.filter(name="ada").update(consecutive_valid=10**9)
    ada.work()
    assert (check_of(single).state, check_of(single).reason) == ("pending", "drawn")


class TestNobodyCanVerify:
    """The result is accepted and recorded as unverified, at once."""

    def _is_waived(self, run: Run) -> bool:
        assert _round(run).state == Round.State.MERGING
        return check_of(run).state == Check.State.WAIVED

    def test_one_worker(self, single, volunteer):
        volunteer(single, "ada", 2).work()
        assert self._is_waived(single)

    def test_two_workers_at_one_address(self, single, volunteer):
        ada, _ = volunteer(single, "ada", 2), volunteer(single, "bob", 2)
        ada.work()
        assert self._is_waived(single)

    def test_others_who_only_train(self, single, trio):
        Worker.objects.exclude(name="ada").update(verifies=False)
        trio[0].work()
        assert self._is_waived(single)

    def test_others_who_have_left(self, single, trio):
        all_leave(*trio[1:])
        trio[0].work()
        assert self._is_waived(single)

    def test_no_served_data(self, tmp_path, db, volunteer):
        run = make_run(tmp_path, shards=1)
        Run.objects.update(serves_data=False)
        ada, _ = volunteer(run, "ada", 2), volunteer(run, "bob", 3)
        ada.work()
        assert self._is_waived(run)

    @pytest.mark.parametrize(("encoding", "can"), [("ham", True), ("topk", False), ("int8", True)])
    def test_an_encoding_that_remembers(self, single, trio, encoding, can):
        trio[0].work()
        Lease.objects.update(encoding=next((c for c in CODECS if c.startswith(encoding)), encoding))
        assert can_be_repeated(single, trained(single)) is can

    def test_checks_turned_off_leave_no_trace(self, single, trio):
        Run.objects.update(verify=False)
        trio[0].work()
        assert not Check.objects.exists()
        assert _round(single).state == Round.State.MERGING


def test_when_the_last_verifier_leaves_the_result_counts_unverified(single, trio):
    ada, bob, cem = trio
    ada.work()
    reconcile()
    assert check_of(single).state == Check.State.PENDING
    all_leave(bob, cem)
    reconcile()
    assert check_of(single).state == Check.State.WAIVED
    reconcile()
    assert _round(single).accepted == 1


def test_at_the_deadline_what_is_under_check_is_left_out_while_verifiers_are_there(
    tmp_path, db, volunteer
):
    run = make_run(tmp_path, shards=2)
    ada, bob = volunteer(run, "ada", 2), volunteer(run, "bob", 3)
    task = ada.work()
    bob.work()
    other = bob.lease()  # trains the second shard
    assert other["is"] == "egit"
    bob.send(other)
    assert [check.state for check in Check.objects.order_by("pk")] == ["valid", "pending"]
    pass_deadline(run)
    reconcile()
    assert _round(run).state == Round.State.PUBLISHED and _round(run).accepted == 1
    assert bob.sonuc(other, "get").json() == {"durum": "denetlenemedi"}
    assert ada.sonuc(task, "get").json()["durum"] == "birlesti"
    assert [check.state for check in Check.objects.order_by("pk")] == ["valid", "late"]
    assert bob.http.get(f"/c/{run.slug}/durum").json()["sonuc"] == {
        "kabul": 1,
        "ret": 0,
        "elenen": 1,
    }


def test_verifiers_who_never_verify_cannot_keep_a_round_open_for_ever(single, trio):
    ada, *_ = trio
    ada.work()
    pass_deadline(single)
    assert _round(single).state == Round.State.OPEN  # nothing else to merge yet
    pass_deadline(single, lengths=1)
    assert check_of(single).state == Check.State.WAIVED
    reconcile()
    assert _round(single).accepted == 1


def test_a_check_that_is_let_expire_goes_to_another_and_not_back(single, trio):
    ada, bob, cem = trio
    ada.work()
    bob.lease()
    Lease.objects.filter(worker=bob.row).update(expires_at="2020-01-01T00:00:00Z")
    assert expire_leases() == 1
    assert bob.ask().status_code == 204
    assert cem.ask().json()["is"] == "dogrula"


def test_a_late_repetition_of_a_decided_check_is_not_wanted(single, trio, post_whole, result_file):
    ada, bob, cem = trio
    ada.work()
    task = bob.lease()
    Lease.objects.filter(worker=bob.row).update(expires_at="2020-01-01T00:00:00Z")
    expire_leases()
    Round.objects.update(state=Round.State.OPEN)
    Run.objects.update(target_results=1)
    # A second shard's worth of time: keep the round open while cem decides the check.
    Unit.objects.create(round=_round(single), shard=5)
    Run.objects.update(target_results=2)
    cem.work()
    assert check_of(single).state == Check.State.VALID
    assert bob.report(task).json() == {"devam": False}
    answer = post_whole(bob, task, result_file(2))
    assert (answer.status_code, answer.json()["kod"]) == (409, "gorev_dolu")
    assert len(check_of(single).evidence) == 1


def test_a_refused_repetition_is_no_opinion(single, trio, post_whole):
    ada, bob, cem = trio
    ada.work()
    answer = post_whole(bob, bob.lease(), b"no safetensors file at all")
    assert answer.json()["kod"] == "bozuk_dosya"
    assert check_of(single).evidence == []
    assert bob.ask().status_code == 204
    cem.work()
    assert check_of(single).state == Check.State.VALID


def test_the_same_repetition_twice_is_one_opinion(single, trio, post_whole, result_file):
    ada, bob, _ = trio
    ada.work()
    task = bob.lease()
    bob.send(task)
    bob.send(task)
    assert len(check_of(single).evidence) == 1
    assert ada.row.checks_valid == 1
    assert bob.sonuc(task, "get").json() == {"durum": "kullanildi"}


def test_a_repetition_is_no_result_of_the_run(single, trio):
    ada, bob, _ = trio
    ada.work()
    bob.work()
    reconcile()
    status = ada.http.get(f"/c/{single.slug}/durum").json()
    assert status["sonuc"] == {"kabul": 1, "ret": 0, "elenen": 0}
    assert status["gecmis"][0]["kabul"] == 1


def test_the_run_says_which_jobs_it_gives_away(single, trio):
    about = trio[0].http.get(f"/c/{single.slug}/bilgi")
    assert about.json()["isler"] == ["egit", "dogrula"]
    Run.objects.update(verify=False)
    assert trio[0].http.get(f"/c/{single.slug}/bilgi").json()["isler"] == ["egit"]
