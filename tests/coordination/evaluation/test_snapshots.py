"""Each published snapshot is measured once in each language, and no round waits for it."""

import hashlib
import json
from math import log

import pytest

from coordination.leases.expire import expire_leases
from coordination.models import Evaluation, Lease, Result, Round, Run, Snapshot, Unit
from coordination.rounds.pause import pause_run
from coordination.rounds.reconcile import reconcile
from coordination.workers.leaderboard import leaderboard
from tests.coordination.evaluation.conftest import HELD_OUT_TOKENS, answer_to
from tests.coordination.making import WorkerOf, make_run
from worker_client.contract.wire import Task

pytestmark = pytest.mark.django_db


def _ask(worker: WorkerOf, *jobs: str):
    return worker.ask(isler=list(jobs or ("olc",)))


def _measure(worker: WorkerOf, post_whole, *losses: float) -> dict:
    task = _ask(worker).json()
    answer = post_whole(worker, task, answer_to(task, *losses))
    assert answer.status_code == 200, answer.content
    return task


def _train(run: Run, post_whole, result_file) -> None:
    ada = WorkerOf(run, "ada", "127.0.0.2")
    assert post_whole(ada, ada.lease(), result_file()).status_code == 200
    reconcile()


def test_a_lease_names_the_snapshot_and_the_held_out_data(run, evaluator):
    answer = _ask(evaluator)
    task = answer.json()
    assert Task.model_validate_json(answer.content).to_wire() == task
    assert (task["is"], task["tur"]) == ("olc", 1)
    assert task["aday"] == [{"adaptor": task["adaptor"], "kodlama": "ham"}]
    assert task["adaptor"]["yol"] == "/adaptor?tur=1"
    held_out = evaluator.http.get(f"{evaluator.base}{task['veri']['yol']}")
    assert held_out.status_code == 200
    assert held_out.headers["ETag"] == f'"{task["veri"]["sha256"]}"'


def test_held_out_data_is_served_to_whoever_evaluates_only(run, evaluator):
    ada = WorkerOf(run, "ada", "127.0.0.2")
    training = ada.lease()
    for token in (training["gorev"], "nothing", ""):
        assert ada.http.get(f"{ada.base}/ayrik?gorev={token}").status_code == 404
    owner = WorkerOf(run, "owner", "127.0.0.3")
    owner.register()
    task = _ask(owner).json()
    other = WorkerOf(run, "other", "127.0.0.4")
    other.register()
    assert other.http.get(f"{other.base}{task['veri']['yol']}").status_code == 404
    assert owner.http.get(f"{owner.base}{task['veri']['yol']}").status_code == 200


def test_each_language_is_measured_once_and_shown(run, evaluator, post_whole):
    _measure(evaluator, post_whole, 2.5)
    _measure(evaluator, post_whole, 3.0)
    assert _ask(evaluator).status_code == 204
    status = evaluator.http.get(f"{evaluator.base}/durum").json()
    assert status["olcum"] == [
        {"surum": 1, "dil": "en", "kayip": 2.5, "bit_bayt": pytest.approx(2.5 / log(2))},
        {"surum": 1, "dil": "tr", "kayip": 3.0, "bit_bayt": pytest.approx(3 / log(2))},
    ]
    page = evaluator.http.get(f"{evaluator.base}/").content.decode()
    assert "Bits per byte" in page and "3.6067" in page
    assert status["sonuc"] == {"kabul": 0, "ret": 0, "elenen": 0}


def test_the_same_answer_again_counts_once(run, evaluator, post_whole):
    task = _ask(evaluator).json()
    answers = [post_whole(evaluator, task, answer_to(task)) for _ in range(2)]
    assert [it.status_code for it in answers] == [200, 200]
    assert answers[0].json() == answers[1].json()
    assert Evaluation.objects.count() == Result.objects.count() == 1
    assert evaluator.sonuc(task, "get").json() == {"durum": "kullanildi"}
    other = post_whole(evaluator, task, answer_to(task, 9.0))
    assert (other.status_code, other.json()["kod"]) == (409, "gorev_dolu")


@pytest.mark.parametrize(
    "body",
    [
        b"no json",
        b"[]",
        b"{}",
        b'{"kayip": [NaN], "token": 60, "bayt": 60}',
        b'{"kayip": [1e999], "token": 60, "bayt": 60}',
        b'{"kayip": [-1], "token": 60, "bayt": 60}',
        b'{"kayip": [], "token": 60, "bayt": 60}',
        b'{"kayip": [1, 2], "token": 60, "bayt": 60}',
        b'{"kayip": ["2"], "token": 60, "bayt": 60}',
        b'{"kayip": [2.5], "token": 59, "bayt": 60}',
        b'{"kayip": [2.5], "token": 60, "bayt": 61}',
        b'{"kayip": [2.5], "token": true, "bayt": 60}',
        b'{"kayip": [2.5], "token": 60, "bayt": 60, "cihaz": "\\u0000"}',
        b"[" * 60_000,
    ],
)
def test_an_answer_that_says_something_else_is_refused(run, evaluator, post_whole, body):
    task = _ask(evaluator).json()
    answer = post_whole(evaluator, task, body)
    assert (answer.status_code, answer.json()["kod"]) == (400, "bozuk_dosya"), answer.content
    assert not Evaluation.objects.exists()
    again = _ask(evaluator).json()  # somebody else may measure that one
    assert again["veri"]["sha256"] != task["veri"]["sha256"]


def test_an_answer_is_small(run, evaluator, post_whole):
    task = _ask(evaluator).json()
    answer = post_whole(evaluator, task, b" " * 70_000)
    assert (answer.status_code, answer.json()["kod"]) == (413, "cok_buyuk")


def test_an_answer_may_come_in_chunks(run, evaluator):
    task = _ask(evaluator).json()
    body = answer_to(task)
    announcement = {"boyut": len(body), "sha256": hashlib.sha256(body).hexdigest()}
    told = evaluator.sonuc(
        task, "put", data=json.dumps(announcement), content_type="application/json"
    )
    assert told.status_code == 201
    done = evaluator.sonuc(
        *(task, "patch"),
        data=body,
        content_type="application/octet-stream",
        headers={"Upload-Offset": "0"},
    )
    assert done.json()["kabul"] is True and Evaluation.objects.count() == 1


def test_only_who_offers_it_gets_it(run, evaluator):
    WorkerOf(run, "ada", "127.0.0.2").lease()
    assert _ask(evaluator, "egit", "dogrula").status_code == 204
    assert _ask(evaluator, "egit", "olc").json()["is"] == "olc"


def test_training_goes_before_measuring(run, evaluator):
    assert _ask(evaluator, "olc", "egit").json()["is"] == "egit"


def test_a_lost_lease_is_leased_again(run, evaluator):
    task = _ask(evaluator).json()
    Lease.objects.update(expires_at="2020-01-01T00:00:00Z")
    assert expire_leases() == 1
    again = _ask(WorkerOf(run, "eve", "127.0.0.8")).json()
    assert again["veri"]["sha256"] == task["veri"]["sha256"] and again["gorev"] != task["gorev"]


def test_a_round_does_not_wait_and_its_end_does_not_end_the_measuring(
    run, evaluator, post_whole, result_file
):
    task = _ask(evaluator).json()
    _train(run, post_whole, result_file)
    assert Round.objects.get().state == Round.State.PUBLISHED
    assert Run.objects.get().state == Run.State.FINISHED
    assert evaluator.report(task).json()["devam"] is True
    assert post_whole(evaluator, task, answer_to(task)).status_code == 200
    assert Evaluation.objects.get().snapshot.number == 1


def test_the_last_snapshot_is_measured_after_the_end_and_then_the_run_is_over(
    run, evaluator, post_whole, result_file
):
    _train(run, post_whole, result_file)
    assert WorkerOf(run, "ada", "127.0.0.2").ask().status_code == 410
    measured = [_measure(evaluator, post_whole) for _ in range(4)]
    paths = [task["adaptor"]["yol"] for task in measured]
    assert paths == ["/adaptor?tur=2"] * 2 + ["/adaptor?tur=1"] * 2
    assert {task["tur"] for task in measured} == {1}
    assert _ask(evaluator).status_code == 410
    status = evaluator.http.get(f"{evaluator.base}/durum").json()
    numbers = [(row["surum"], row["dil"]) for row in status["olcum"]]
    assert numbers == [(1, "en"), (1, "tr"), (2, "en"), (2, "tr")]


def test_who_may_not_do_what_is_left_hears_that_the_run_is_over(
    run, evaluator, post_whole, result_file
):
    _train(run, post_whole, result_file)
    for _ in range(4):
        task = _ask(evaluator).json()
        assert post_whole(evaluator, task, b"{}").status_code == 400
    assert _ask(evaluator).status_code == 410
    assert _ask(WorkerOf(run, "eve", "127.0.0.8")).status_code == 200


def test_nobody_who_could_train_is_kept_from_the_next_round(run, evaluator):
    Round.objects.update(state=Round.State.MERGING)
    assert _ask(evaluator, "egit", "olc").status_code == 204
    assert _ask(evaluator, "olc").json()["is"] == "olc"


def test_a_paused_run_gives_none_away(run, evaluator):
    pause_run(run, "for a while")
    assert _ask(evaluator).status_code == 204


def test_a_snapshot_that_is_gone_is_not_measured(run, evaluator):
    Snapshot.objects.update(deleted_at="2020-01-01T00:00:00Z")
    assert _ask(evaluator).status_code == 204


def test_the_run_says_that_it_has_such_work(run, evaluator, tmp_path):
    about = evaluator.http.get(f"{evaluator.base}/bilgi").json()
    assert about["isler"] == ["egit", "olc"]
    assert not Unit.objects.filter(
        round__run=make_run(tmp_path, "plain"), job=Unit.Job.EVALUATE
    ).exists()


def test_measuring_is_no_training_on_the_leaderboard(run, evaluator, post_whole):
    evaluator.register()
    _measure(evaluator, post_whole)
    (row,) = leaderboard(run)
    assert vars(row)["tasks"] == 1 and vars(row)["tokens"] == 0
    assert row.task_seconds is None
    assert HELD_OUT_TOKENS == Result.objects.get().tokens
