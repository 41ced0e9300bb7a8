"""A result that nobody can repeat is judged by what it does to losses."""

import pytest

from coordination.models import Check, Result, Round, Run, Unit, Worker
from coordination.rounds.reconcile import reconcile
from tests.coordination.evaluation.conftest import answer_to
from tests.coordination.making import make_run
from tests.coordination.verification.conftest import (
    Volunteer,
    all_leave,
    check_of,
    pass_deadline,
    register,
    trained,
    volunteer,
)
from worker_client.contract.formats import load_format
from worker_client.contract.wire import Task

__all__ = ["volunteer"]
pytestmark = pytest.mark.django_db

# Before and after, on held-out text, on the result's own rows, on others' rows.
GOOD, BAD = (4, 3.9, 4, 3.5, 4, 3.6), (4, 4.3, 4, 4.4, 4, 4.4)


@pytest.fixture
def run(db, tmp_path) -> Run:
    """Two shards, of which a round trains one."""
    return make_run(tmp_path, languages=("tr",), shards=2, units_per_round=1, target_results=1)


@pytest.fixture
def trio(run, volunteer) -> list[Volunteer]:
    """Ada trains; nobody repeats, bob and cem measure."""
    people = [volunteer(run, name, host) for host, name in enumerate(("ada", "bob", "cem"), 2)]
    Worker.objects.update(verifies=False, evaluates=True)
    Worker.objects.filter(name="ada").update(evaluates=False)
    return people


def _train(someone: Volunteer) -> dict:
    task = someone.ask(isler=["egit"]).json()
    someone.send(task)
    return task


def _measure(someone: Volunteer, losses: tuple[float, ...] = GOOD) -> dict:
    task = someone.ask(isler=["olc"]).json()
    answer = someone._post(someone, task, answer_to(task, *losses))
    assert answer.status_code == 200, answer.content
    return task


def _round(run: Run) -> Round:
    return Round.objects.get(run=run, number=1)


def test_it_is_held_out_of_the_merge_until_somebody_has_measured_it(run, trio):
    ada, bob, _ = trio
    task = _train(ada)
    assert check_of(run).state == Check.State.PENDING
    assert _round(run).state == Round.State.OPEN
    _measure(bob)
    assert check_of(run).state == Check.State.PLAUSIBLE
    assert _round(run).participants == [trained(run).pk]
    reconcile()
    assert ada.sonuc(task, "get").json()["durum"] == "birlesti"


def test_the_lease_names_before_and_after_on_three_kinds_of_rows(run, trio):
    ada, bob, _ = trio
    own = _train(ada)["parca"]
    answer = bob.ask(isler=["olc"])
    task, result = answer.json(), trained(run)
    assert Task.model_validate_json(answer.content).to_wire() == task
    assert (task["is"], task["tur"], task["parca"]) == ("olc", 1, own)
    size = load_format(run.format).data_bytes
    assert [one.get("parca") for one in task["aday"]] == [None, None, own, own, 1 - own, 1 - own]
    for before, after in zip(task["aday"][::2], task["aday"][1::2], strict=True):
        assert "sonuc" not in before and after["kodlama"] == "vektor"
        assert (after["sonuc"]["sha256"], after["sonuc"]["boyut"]) == (result.vector_sha256, size)
        assert before.get("veri") == after.get("veri")
    served = bob.http.get(f"{bob.base}{task['aday'][1]['sonuc']['yol']}")
    assert served.headers["ETag"] == f'"{result.vector_sha256}"'
    assert ada.http.get(f"{ada.base}/aday?gorev={own}").status_code == 404


def test_two_who_find_it_implausible_leave_it_out(run, trio):
    ada, bob, cem = trio
    register(ada, bob, cem)
    Worker.objects.filter(pk=ada.row.pk).update(consecutive_valid=5, checks_valid=5)
    quota = ada.row.quota
    task = _train(ada)
    _measure(bob, BAD)
    assert check_of(run).state == Check.State.PENDING
    assert bob.ask(isler=["olc"]).status_code in (200, 204)  # a snapshot's, never this one again
    _measure(cem, BAD)
    assert check_of(run).state == Check.State.IMPLAUSIBLE
    assert ada.sonuc(task, "get").json() == {"durum": "elendi", "kod": "olcum_tutmadi"}
    assert (ada.row.consecutive_valid, ada.row.checks_invalid) == (5, 0)
    assert ada.row.quota < quota
    assert Unit.objects.get(job=Unit.Job.TRAIN).state == Unit.State.FREE
    assert ada.ask(isler=["egit"]).status_code == 204  # somebody else's turn


def test_a_lie_about_a_good_result_is_outvoted(run, trio):
    ada, bob, cem = trio
    _train(ada)
    _measure(bob, BAD)
    assert check_of(run).state == Check.State.PENDING
    _measure(cem)
    assert check_of(run).state == Check.State.PLAUSIBLE
    assert [it["agrees"] for it in check_of(run).evidence] == [False, True]


def test_evidence_has_the_losses_and_what_they_mean(run, trio):
    ada, bob, _ = trio
    _train(ada)
    _measure(bob)
    (found,) = check_of(run).evidence
    assert found["workers"] == ["ada", "bob"] and found["language"] == "tr"
    assert found["losses"] == list(GOOD) and found["agrees"] is True
    assert found["harm"] == pytest.approx(-0.025)
    assert (found["own"], found["other"]) == (pytest.approx(0.5), pytest.approx(0.4))


def test_neither_the_author_nor_its_address_measures_it(run, trio, volunteer):
    ada, bob, _ = trio
    _train(ada)
    neighbour = volunteer(run, "neighbour", 2)
    told = ada.ask(isler=["olc"]).json()
    assert len(told["aday"]) == 1 and "sonuc" not in told["aday"][0]  # only a snapshot
    assert neighbour.ask(isler=["olc"]).status_code == 204
    assert len(bob.ask(isler=["olc"]).json()["aday"]) == 6


@pytest.mark.parametrize(
    ("proven", "state"), [("ada", "plausible"), ("bob", "implausible"), (None, "undecided")]
)
def test_one_against_one_the_proven_ones_word_stands(run, trio, proven, state):
    ada, bob, cem = trio
    register(ada, bob)
    Run.objects.update(check_floor=1.0)
    Worker.objects.filter(name=proven).update(consecutive_valid=10)
    all_leave(cem)
    _train(ada)
    _measure(bob, BAD)
    assert check_of(run).state == state


def test_a_repetition_is_preferred(run, trio):
    ada, bob, _ = trio
    Worker.objects.filter(name="bob").update(verifies=True)
    _train(ada)
    assert bob.ask(isler=["egit", "dogrula", "olc"]).json()["is"] == "dogrula"


def test_when_nobody_is_left_to_measure_it_counts_unverified(run, trio):
    ada, bob, cem = trio
    _train(ada)
    all_leave(bob, cem)
    reconcile()
    assert check_of(run).state == Check.State.WAIVED
    reconcile()
    assert _round(run).accepted == 1


def test_those_who_never_measure_cannot_keep_a_round_open_for_ever(run, trio):
    _train(trio[0])
    pass_deadline(run, lengths=1)
    assert check_of(run).state == Check.State.WAIVED


def test_a_run_without_held_out_data_has_nothing_to_measure(tmp_path, volunteer):
    run = make_run(tmp_path, shards=1)
    ada, _ = volunteer(run, "ada", 2), volunteer(run, "bob", 3)
    Worker.objects.update(verifies=False, evaluates=True)
    _train(ada)
    assert check_of(run).state == Check.State.WAIVED


def test_with_one_shard_there_is_no_other_to_compare_with(tmp_path, volunteer):
    run = make_run(tmp_path, shards=1, languages=("tr",))
    ada, bob = volunteer(run, "ada", 2), volunteer(run, "bob", 3)
    Worker.objects.update(verifies=False, evaluates=True)
    _train(ada)
    assert len(_measure(bob, (4, 3.9))["aday"]) == 2
    assert check_of(run).state == Check.State.PLAUSIBLE


def test_a_measurement_is_no_result_of_the_run(run, trio):
    ada, bob, _ = trio
    _train(ada)
    _measure(bob)
    reconcile()
    status = ada.http.get(f"/c/{run.slug}/durum").json()
    assert status["sonuc"] == {"kabul": 1, "ret": 0, "elenen": 0}
    assert status["olcum"] == []  # what it says of the snapshot is about other rows too
    assert Result.objects.filter(state=Result.State.USED).count() == 1


def test_the_wrong_number_of_losses_is_refused_and_another_is_asked(run, trio):
    ada, bob, cem = trio
    _train(ada)
    task = bob.ask(isler=["olc"]).json()
    answer = bob._post(bob, task, answer_to(task, *GOOD[:2]))
    assert (answer.status_code, answer.json()["kod"]) == (400, "bozuk_dosya")
    assert check_of(run).evidence == []
    assert len(_measure(cem)["aday"]) == 6


def test_admins_see_what_was_measured(run, trio, admin_client):
    ada, bob, _ = trio
    _train(ada)
    _measure(bob)
    page = admin_client.get("/admin/coordination/check/").content.decode()
    assert "0.5, 0.4, -0.025" in page
