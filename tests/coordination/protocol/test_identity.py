"""``/kayit``, tokens at every endpoint, open and closed runs, and what each refusal says."""

import secrets
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from coordination.models import Lease, Run, Worker
from coordination.workers.approve import approve_worker
from coordination.workers.block import block_worker
from coordination.workers.find import owner_of, worker_of_token
from coordination.workers.pause import pause_worker
from coordination.workers.registrations import HOUR_S
from coordination.workers.unblock import unblock_worker
from tests.coordination.making import WorkerOf, make_run
from worker_client.contract.wire import Registration

pytestmark = pytest.mark.django_db


@pytest.fixture
def closed(tmp_path) -> Run:
    return make_run(tmp_path, "closed", open_to_all=False)


def owner(run: Run, name: str = "ada") -> Worker:
    return Worker.objects.exclude(token_digest="").get(run=run, name=name)


def said(answer) -> tuple[int, str, bool]:
    """Status, code and whether to try again; a refusal is always problem+json with a sentence."""
    body = answer.json()
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert body["status"] == answer.status_code and len(body["detail"]) > 20
    return answer.status_code, body["kod"], body["tekrar"]


def every_endpoint(worker: WorkerOf, task: dict) -> dict[str, Any]:
    """The answers of all endpoints that are for workers, the lease's included."""
    http, base = worker.http, worker.base
    progress = {"anahtar": task["anahtar"], "adim": 1}
    return {
        "gorev": worker.ask(),
        "adaptor": http.get(f"{base}/adaptor?tur=1"),
        "veri": http.get(f"{base}/veri?parca=0"),
        "nabiz": http.post(
            f"{base}/gorev/{task['gorev']}/nabiz", progress, content_type="application/json"
        ),
    } | {method: worker.sonuc(task, method) for method in ("get", "put", "patch", "post")}


# Owning a name


def test_a_name_belongs_to_its_token(run, worker):
    first = worker.register()
    assert (first.status_code, first.json()) == (201, {"durum": "onayli"})
    again = worker.register(worker.token)
    assert (again.status_code, again.json()) == (201, {"durum": "onayli"})
    stranger = WorkerOf(run).register()
    assert said(stranger) == (409, "isci_dolu", False)
    assert Worker.objects.count() == 1


def test_the_token_is_not_stored(run, worker):
    worker.register()
    assert worker.token not in str(Worker.objects.values().get())


def test_one_token_is_for_one_name(run, worker):
    worker.register()
    assert said(WorkerOf(run, "bob").register(worker.token)) == (403, "isci_uyusmuyor", False)


def test_the_same_name_in_another_run_is_another_worker(run, tmp_path):
    other = make_run(tmp_path, "other")
    token = Registration.draw_token()
    for one in (run, other):
        assert WorkerOf(one).register(token).status_code == 201
    assert Worker.objects.count() == 2


@pytest.mark.parametrize(
    "token", ["", "mwk_", "mwk_" + "a" * 31, "mwx_" + "a" * 43, "mwk_" + "a" * 129, "mwk_ç" * 40]
)
def test_a_token_that_is_too_short_or_no_token_is_refused(run, worker, token):
    body = {"isci": "ada", "belirtec": token}
    answer = worker.http.post(f"{worker.base}/kayit", body, content_type="application/json")
    assert said(answer) == (400, "gecersiz_istek", False)
    assert "belirtec" in answer.json()["detail"] and not Worker.objects.exists()


def test_192_bits_in_hex_are_enough(run, worker):
    assert worker.register(f"mwk_{secrets.token_hex(24)}").status_code == 201


def test_one_address_registers_only_so_many_names_an_hour(run, settings, monkeypatch):
    settings.REGISTRATIONS_PER_HOUR = 2
    names = [WorkerOf(run, name) for name in ("ada", "bob", "cem")]
    assert [worker.register().status_code for worker in names] == [201, 201, 429]
    refused = WorkerOf(run, "dil").register()
    assert said(refused) == (429, "cok_kayit", True)
    assert 1 <= int(refused.headers["Retry-After"]) <= HOUR_S
    assert names[0].register(names[0].token).status_code == 201, "an old name is always welcome"
    assert WorkerOf(run, "eda", "127.0.0.2").register().status_code == 201


def test_a_volunteer_may_stay_off_the_leaderboard_and_come_back(run, worker):
    worker.register(liste=False)
    assert not owner(run).is_listed
    worker.register(worker.token)
    assert not owner(run).is_listed, "silence changes nothing"
    worker.register(worker.token, liste=True)
    assert owner(run).is_listed


# Open runs


def test_work_under_a_name_nobody_registered_is_allowed(run, worker):
    worker.lease()
    assert not Worker.objects.get().is_registered


def test_a_registered_name_needs_its_token(run, worker):
    worker.register()
    answer = WorkerOf(run).ask()
    assert said(answer) == (401, "belirtec_gerekli", False)
    assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert worker.ask().status_code == 200


def test_a_token_is_for_its_own_name(run, worker):
    worker.register()
    bob = WorkerOf(run, "bob")
    bob.register()
    bob.name = "ada"
    assert said(bob.ask()) == (403, "isci_uyusmuyor", False)


def test_a_token_that_nobody_registered_is_refused(run, worker):
    worker.http.defaults["HTTP_AUTHORIZATION"] = f"Bearer {Registration.draw_token()}"
    assert said(worker.ask()) == (403, "isci_uyusmuyor", False)


def test_credentials_of_another_kind_are_not_a_token(run, worker):
    worker.http.defaults["HTTP_AUTHORIZATION"] = "Basic YWRhOmFkYQ=="
    assert worker.ask().status_code == 200


def test_a_registration_does_not_inherit_what_a_stranger_did(run, worker, result_file, post_whole):
    post_whole(worker, worker.lease(), result_file())
    worker.register()
    task = worker.lease()
    stranger, registered = Worker.objects.order_by("pk")
    assert not stranger.is_registered and registered.is_registered
    assert [lease.worker for lease in Lease.objects.order_by("pk")] == [stranger, registered]
    assert worker.http.get(f"{worker.base}/makbuz").json()["makbuz"] == []
    assert worker.report(task).json()["devam"] is True


def test_a_lease_taken_before_registering_may_be_brought_home(run, worker, result_file, post_whole):
    task = worker.lease()
    worker.register()
    assert worker.report(task).json()["devam"] is True
    assert post_whole(worker, task, result_file()).status_code == 200


def test_somebody_elses_token_does_not_go_with_a_lease(run, worker):
    worker.register()
    task = worker.lease()
    bob = WorkerOf(run, "bob")
    bob.register()
    answers = every_endpoint(bob, task)
    for name in ("nabiz", "get", "put", "patch", "post"):
        assert said(answers[name]) == (403, "isci_uyusmuyor", False), name


def test_strangers_of_one_address_hold_only_so_many_leases_together(tmp_path):
    run = make_run(tmp_path, "wide", shards=9, max_unregistered_per_address=2)
    names = [WorkerOf(run, name) for name in ("ada", "bob", "cem")]
    assert [worker.ask().status_code for worker in names] == [200, 200, 409]
    names[2].register()
    assert names[2].ask().status_code == 200, "a registered worker has its own limit"
    assert WorkerOf(run, "dil", "127.0.0.2").ask().status_code == 200


def test_a_run_may_want_registered_workers_without_approving_each(tmp_path):
    run = make_run(tmp_path, "names", max_unregistered_per_address=0)
    ada = WorkerOf(run)
    assert said(ada.ask()) == (401, "belirtec_gerekli", False)
    ada.register()
    assert ada.ask().status_code == 200


# Closed runs


def test_bilgi_says_whether_a_run_is_open(run, closed):
    http = WorkerOf(run).http
    assert http.get("/c/tiny/bilgi").json()["acik"] is True
    assert http.get("/c/closed/bilgi").json()["acik"] is False


def test_in_a_closed_run_all_but_the_public_endpoints_need_a_token(closed):
    stranger = WorkerOf(closed)
    for path in ("bilgi", "durum"):
        assert stranger.http.get(f"{stranger.base}/{path}").status_code == 200
    answers = every_endpoint(stranger, {"gorev": "nosuchtask", "anahtar": "0" * 64})
    answers["makbuz"] = stranger.http.get(f"{stranger.base}/makbuz")
    for name, answer in answers.items():
        assert said(answer) == (401, "belirtec_gerekli", False), name
        assert answer.headers["WWW-Authenticate"] == "Bearer"


def test_a_token_that_a_closed_run_does_not_know_is_refused(closed):
    ada = WorkerOf(closed)
    ada.http.defaults["HTTP_AUTHORIZATION"] = f"Bearer {Registration.draw_token()}"
    assert said(ada.ask()) == (401, "belirtec_gerekli", False)


def test_a_closed_run_lets_in_whom_an_admin_approves(closed):
    ada = WorkerOf(closed)
    assert ada.register().json() == {"durum": "bekliyor"}
    answers = every_endpoint(ada, {"gorev": "nosuchtask", "anahtar": "0" * 64})
    for name, answer in answers.items():
        assert said(answer) == (403, "onay_bekliyor", True), name
        assert int(answer.headers["Retry-After"]) >= 1
    assert approve_worker(owner(closed))
    assert ada.register(ada.token).json() == {"durum": "onayli"}
    task = ada.lease()
    answers = every_endpoint(ada, task)
    assert [answers[name].status_code for name in ("adaptor", "veri", "nabiz")] == [200] * 3


def test_a_run_that_opens_lets_in_whoever_waited(closed):
    ada = WorkerOf(closed)
    ada.register()
    Run.objects.filter(pk=closed.pk).update(open_to_all=True)
    assert ada.register(ada.token).json() == {"durum": "onayli"}
    assert ada.ask().status_code == 200


# Paused and blocked


def test_a_paused_worker_loses_its_lease_and_waits(run, worker):
    worker.register()
    task = worker.lease()
    assert pause_worker(owner(run), "the same result twice")
    assert Lease.objects.get().state == Lease.State.EXPIRED
    for name, answer in every_endpoint(worker, task).items():
        assert said(answer) == (403, "isci_duraklatildi", True), name
        assert "the same result twice" in answer.json()["detail"]
        assert int(answer.headers["Retry-After"]) >= 1
    assert WorkerOf(run, "bob").lease()["parca"] == task["parca"]
    assert unblock_worker(owner(run))
    assert worker.ask().status_code == 200


def test_a_blocked_worker_is_told_why_everywhere(run, worker):
    worker.register()
    task = worker.lease()
    assert block_worker(owner(run), "results made of noise")
    answers = every_endpoint(worker, task) | {"kayit": worker.register(worker.token)}
    for name, answer in answers.items():
        assert said(answer) == (403, "isci_engelli", False), name
        assert "results made of noise" in answer.json()["detail"]


def test_a_blocked_worker_does_not_come_back_without_its_token(run, worker):
    worker.register()
    task = worker.lease()
    block_worker(owner(run), "results made of noise")
    stranger = WorkerOf(run)
    assert said(stranger.ask()) == (401, "belirtec_gerekli", False)
    assert said(stranger.report(task)) == (403, "isci_engelli", False)
    assert said(stranger.sonuc(task, "put")) == (403, "isci_engelli", False)


def test_a_name_without_owner_can_be_blocked_too(run, worker):
    worker.lease()
    assert block_worker(Worker.objects.get(), "floods the queue")
    assert said(worker.ask()) == (403, "isci_engelli", False)
    assert worker.register().status_code == 201, "who registers it is somebody else"


# Copies of a state folder


def asked(worker: WorkerOf, sequence: int, request_id: str | None = None):
    return worker.ask(request_id, sira=sequence)


@pytest.fixture
def wide(tmp_path) -> WorkerOf:
    run = make_run(tmp_path, "wide", shards=9, max_leases_per_worker=9)
    ada = WorkerOf(run)
    ada.register()
    return ada


def test_a_sequence_that_rises_is_fine_gaps_included(wide):
    assert [asked(wide, n).status_code for n in (0, 1, 2, 7)] == [200] * 4


def test_a_repeated_request_is_no_copy(wide):
    istek = secrets.token_hex(16)
    assert [asked(wide, 3, istek).status_code for _ in range(2)] == [200, 200]
    assert asked(wide, 4).status_code == 200
    assert asked(wide, 3, istek).status_code == 200, "a duplicate that was late on its way"


def test_a_request_repeated_after_no_work_is_no_copy(wide):
    istek = secrets.token_hex(16)
    Run.objects.update(state=Run.State.PAUSED)
    assert [asked(wide, 3, istek).status_code for _ in range(2)] == [204, 204]
    Run.objects.update(state=Run.State.OPEN)
    assert asked(wide, 3, istek).status_code == 200


@pytest.mark.parametrize("sequence", [3, 2, 0], ids=["fork", "behind", "far behind"])
def test_two_computers_with_one_state_folder_are_noticed(wide, sequence):
    assert asked(wide, 3).status_code == 200
    answer = asked(wide, sequence)
    assert said(answer) == (409, "isci_kopya", False)
    assert "copy of this state folder" in answer.json()["detail"]
    row = owner(wide.run)
    assert (row.copies_seen, row.sequence) == (1, 3) and row.copy_seen_at
    assert asked(wide, 4).status_code == 200, "whoever was first goes on"


def test_a_token_s_owner_may_ask_how_far_it_has_counted(wide):
    assert "sira" not in wide.http.get(f"{wide.base}/makbuz").json()
    asked(wide, 3)
    assert wide.http.get(f"{wide.base}/makbuz").json()["sira"] == 3


def test_without_numbers_nothing_is_noticed(wide):
    assert asked(wide, 3).status_code == 200
    assert wide.ask().status_code == 200


def test_a_stranger_cannot_make_a_registered_worker_look_copied(wide):
    asked(wide, 3)
    assert asked(WorkerOf(wide.run), 1).status_code == 401
    assert owner(wide.run).copies_seen == 0


@pytest.mark.parametrize("sequence", [-1, 2**53, 1.5, "3"])
def test_a_sequence_out_of_range_is_refused(wide, sequence):
    assert said(wide.ask(sira=sequence)) == (400, "gecersiz_istek", False)


# Receipts


def test_receipts_say_what_became_of_each_file(run, worker, result_file, post_whole):
    worker.register()
    task = worker.lease()
    good, bad = result_file(token="64", kayip_son="3.5"), result_file()[:-8]
    assert post_whole(worker, task, bad).status_code == 400
    again = worker.lease()
    assert post_whole(worker, again, good).status_code == 200
    body = worker.http.get(f"{worker.base}/makbuz").json()
    assert body["isci"] == "ada" and "once" not in body
    accepted, refused = body["makbuz"]
    assert accepted["durum"] == "bekliyor" and accepted["gorev"] == again["gorev"]
    assert (accepted["token"], accepted["kayip"]) == (64, 3.5)
    assert (accepted["tur"], accepted["parca"]) == (1, again["parca"])
    assert len(accepted["sha256"]) == 64 and accepted["zaman"].endswith("Z")
    assert (refused["durum"], refused["kod"]) == ("ret", "bozuk_dosya")


def test_receipts_are_shown_to_the_token_alone(run, worker, result_file, post_whole):
    worker.register()
    post_whole(worker, worker.lease(), result_file())
    bob = WorkerOf(run, "bob")
    assert said(bob.http.get(f"{bob.base}/makbuz")) == (401, "belirtec_gerekli", False)
    bob.register()
    assert bob.http.get(f"{bob.base}/makbuz").json()["makbuz"] == []
    assert block_worker(owner(run), "a reason")
    assert len(worker.http.get(f"{worker.base}/makbuz").json()["makbuz"]) == 1


def test_receipts_come_in_pages(run, worker, result_file, post_whole, monkeypatch):
    monkeypatch.setattr("coordination.results.receipts.PAGE", 2)
    worker.register()
    for i in range(5):
        post_whole(worker, worker.lease(), result_file()[: -8 * (i + 1)])
    found, query = [], ""
    while True:
        page = worker.http.get(f"{worker.base}/makbuz{query}").json()
        assert len(page["makbuz"]) <= 2
        found += [receipt["sha256"] for receipt in page["makbuz"]]
        if "once" not in page:
            break
        query = f"?once={page['once']}"
    assert len(found) == len(set(found)) == 5


def test_receipts_cost_the_same_however_many_there_are(
    run, worker, result_file, post_whole, django_assert_num_queries
):
    worker.register()
    for i in range(4):
        post_whole(worker, worker.lease(), result_file()[: -8 * (i + 1)])
    with django_assert_num_queries(3):  # the run, the worker, its results
        worker.http.get(f"{worker.base}/makbuz")


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL plans by how many there are")
def test_a_worker_is_looked_up_by_an_index(run):
    """However many there are: each request of each worker begins with it."""
    with CaptureQueriesContext(connection) as asked_for:
        assert worker_of_token(run, Registration.draw_token()) is None
        assert owner_of(run, "ada") is None
    for query in asked_for.captured_queries:
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN QUERY PLAN {query['sql']}")
            plan = " ".join(str(row[3]) for row in cursor.fetchall())
        assert "USING INDEX one_" in plan, plan
