"""``/gorev`` and ``/gorev/{id}/nabiz``."""

import secrets

import pytest

from coordination.models import Lease, Round, Run, Unit
from coordination.rounds.pause import pause_run, resume_run
from tests.coordination.making import WorkerOf, make_run
from worker_client.contract.wire import Task

pytestmark = pytest.mark.django_db


def test_a_lease_carries_all_that_the_protocol_names(run, worker):
    answer = worker.ask()
    task = answer.json()
    assert Task.model_validate_json(answer.content).to_wire() == task
    assert set(task) == {
        *("gorev", "anahtar", "is", "tur", "tur_sayisi", "ic_adim", "bs", "seq", "lr", "tohum"),
        *("parca", "n_parca", "mod", "bicim", "recete", "taban_model", "kodlama", "sure", "son"),
        *("adaptor", "veri", "belirtec_sha256"),
    }
    assert task["adaptor"]["yol"] == "/adaptor?tur=1" and task["veri"]["yol"] == "/veri?parca=0"


def test_the_same_istek_gets_the_same_answer_while_its_lease_lives(worker):
    istek = secrets.token_hex(16)
    first, again = worker.lease(istek), worker.lease(istek)
    assert (first["gorev"], first["anahtar"]) == (again["gorev"], again["anahtar"])
    assert Lease.objects.count() == 1


def test_an_istek_whose_lease_has_ended_is_used_up(worker):
    istek = secrets.token_hex(16)
    worker.lease(istek)
    Lease.objects.update(state=Lease.State.EXPIRED)
    answer = worker.ask(istek)
    assert answer.status_code == 409
    assert answer.json()["kod"] == "istek_kullanildi" and answer.json()["tekrar"] is False


def test_the_same_istek_of_another_worker_is_another_request(run, worker):
    istek = secrets.token_hex(16)
    mine, theirs = worker.lease(istek), WorkerOf(run, "bob").lease(istek)
    assert mine["gorev"] != theirs["gorev"] and mine["anahtar"] != theirs["anahtar"]


def test_no_unit_is_leased_twice_and_then_there_is_nothing(run):
    shards = [WorkerOf(run, name).lease()["parca"] for name in ("ada", "bob")]
    assert sorted(shards) == [0, 1]
    answer = WorkerOf(run, "cem").ask()
    assert answer.status_code == 204 and int(answer.headers["Retry-After"]) >= 1
    assert answer.content == b""


def test_the_key_is_not_stored(worker):
    task = worker.lease()
    row = Lease.objects.values().get()
    assert task["anahtar"] not in map(str, row.values())


def test_a_worker_may_hold_only_so_many_leases_while_others_work(tmp_path):
    run = make_run(tmp_path, "wide", shards=8)
    WorkerOf(run, "bob", "127.0.0.9").lease()
    ada = WorkerOf(run, "ada")
    ada.lease()
    refused = ada.ask()
    assert refused.status_code == 409 and refused.json()["kod"] == "isci_mesgul"
    assert refused.json()["tekrar"] is True and refused.headers["Retry-After"]


def test_the_limit_rises_for_a_worker_that_is_alone(tmp_path):
    run = make_run(tmp_path, "wide", shards=8)
    ada = WorkerOf(run, "ada")
    assert [ada.ask().status_code for _ in range(5)] == [200] * 4 + [409]


def test_one_address_may_hold_only_so_many_leases(tmp_path):
    run = make_run(tmp_path, "wide", shards=8, max_leases_per_address=2)
    names = [WorkerOf(run, name) for name in ("ada", "bob", "cem")]
    assert [worker.ask().status_code for worker in names] == [200, 200, 409]
    assert WorkerOf(run, "dil", "127.0.0.2").ask().status_code == 200


def test_a_worker_gets_the_shard_it_had_last(run, tmp_path):
    first = WorkerOf(run, "ada").lease()
    Unit.objects.update(state=Unit.State.FREE)
    Lease.objects.update(state=Lease.State.EXPIRED)
    bob = WorkerOf(run, "bob")
    Unit.objects.filter(shard=first["parca"]).update(state=Unit.State.DONE)
    other = bob.lease()
    Unit.objects.update(state=Unit.State.FREE)
    Lease.objects.update(state=Lease.State.EXPIRED)
    assert bob.lease()["parca"] == other["parca"] != first["parca"]


@pytest.mark.parametrize(
    "fields",
    [
        {"isci": "Ada"},
        {"isci": "ab"},
        {"isci": "a" * 33},
        {"isci": "ada\n"},
        {"isci": 7},
        {"istek": "xyz"},
        {"istek": "A" * 32},
        {"kodlama": "ham"},
        {"cihaz": {"gpu": ["nested"]}},
        {"cihaz": {"gpu": "a\0"}},
        {"cihaz": {"a\0": 1}},
    ],
)
def test_a_bad_lease_request_says_which_field(worker, fields):
    answer = worker.ask(**fields)
    assert answer.status_code == 400
    assert answer.headers["Content-Type"] == "application/problem+json"
    body = answer.json()
    assert body["kod"] == "gecersiz_istek" and next(iter(fields)) in body["detail"]


@pytest.mark.parametrize("body", [b" ", b"[]", b"{", b"\xff\xfe", b"[" * 30000, b"null"])
def test_a_body_that_is_no_message_is_refused(run, worker, body):
    url = f"/c/{run.slug}/gorev"
    answer = worker.http.post(url, body, content_type="application/json")
    assert answer.status_code == 400 and answer.json()["kod"] == "gecersiz_istek"


def test_a_json_body_has_a_limit(run, worker):
    body = b'{"isci":"' + b"a" * 70_000 + b'"}'
    answer = worker.http.post(f"/c/{run.slug}/gorev", body, content_type="application/json")
    assert answer.status_code == 413 and answer.json()["kod"] == "cok_buyuk"


def test_a_job_nobody_offers_gets_nothing_and_an_unknown_encoding_a_reason(worker):
    assert worker.ask(isler=["dogrula"]).status_code == 204
    answer = worker.ask(kodlama=["topk"])
    assert answer.status_code == 409 and answer.json()["kod"] == "kodlama_yok"


def test_another_protocol_version_is_told_ours(run, worker):
    answer = worker.http.get(f"/c/{run.slug}/durum", headers={"X-Modelen-Protokol": "2"})
    assert answer.status_code == 400 and answer.json()["desteklenen"] == [1]
    assert answer.json()["kod"] == "protokol_desteklenmiyor"
    assert answer.headers["X-Modelen-Protokol"] == "1"


def test_a_paused_run_leases_nothing_but_hears_progress(run, worker):
    task = worker.lease()
    assert pause_run(run, "lunch")
    assert WorkerOf(run, "bob").ask().status_code == 204
    answer = beat(worker, task, adim=1)
    assert answer.json()["devam"] is True
    assert worker.http.get(f"/c/{run.slug}/durum").json()["durum"] == "duraklatildi"
    assert resume_run(run)
    assert WorkerOf(run, "bob").ask().status_code == 200


def beat(worker: WorkerOf, task: dict, **fields):
    body = {"anahtar": task["anahtar"]} | fields
    url = f"{worker.base}/gorev/{task['gorev']}/nabiz"
    return worker.http.post(url, body, content_type="application/json")


def test_progress_extends_the_lease_up_to_its_maximum(run, worker):
    task = worker.lease()
    Lease.objects.update(expires_at="2020-01-01T00:00:00Z")
    answer = beat(worker, task, adim=3, kayip=2.5).json()
    assert answer["devam"] is True and 590 <= answer["sure"] <= 600
    lease = Lease.objects.get()
    assert (lease.step, lease.loss) == (3, 2.5)
    Run.objects.update(lease_max_seconds=5, lease_seconds=5)
    Lease.objects.update(granted_at="2020-01-01T00:00:00Z")
    assert beat(worker, task).json()["sure"] == 0


def test_progress_of_work_nobody_wants_any_more_says_so(run, worker):
    task = worker.lease()
    Round.objects.update(state=Round.State.MERGING)
    assert beat(worker, task).json() == {"devam": False}


@pytest.mark.parametrize(
    ("fields", "status", "code"),
    [
        ({"anahtar": "0" * 64}, 403, "anahtar_gecersiz"),
        ({"anahtar": "short"}, 400, "gecersiz_istek"),
        ({"adim": -1}, 400, "gecersiz_istek"),
        ({"ozet": "nope"}, 400, "gecersiz_istek"),
    ],
)
def test_bad_progress_is_refused(worker, fields, status, code):
    answer = beat(worker, worker.lease(), **fields)
    assert (answer.status_code, answer.json()["kod"]) == (status, code)


def test_an_unknown_task_and_an_unknown_run_are_not_found(run, worker):
    task = worker.lease() | {"gorev": "nosuchtask"}
    answer = beat(worker, task)
    assert (answer.status_code, answer.json()["kod"]) == (404, "gorev_yok")
    missing = worker.http.get("/c/nosuchrun/durum")
    assert missing.status_code == 404 and missing.headers["X-Modelen-Protokol"] == "1"
    assert worker.http.post(f"/c/{run.slug}/nosuchthing").json()["kod"] == "yok"


def test_a_wrong_method_is_told_the_right_one(run, worker):
    answer = worker.http.get(f"/c/{run.slug}/gorev")
    assert answer.status_code == 405 and answer.headers["Allow"] == "POST"
