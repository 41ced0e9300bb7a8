"""Raw text goes to whom an admin lets see it, while they hold a lease of it, and to nobody else."""

from datetime import timedelta
from typing import Any

import pytest

from coordination.clock import now
from coordination.models import Chunk, Lease, Run, Unit, Worker, WorkerEvent
from coordination.rounds.pause import pause_run, resume_run
from coordination.workers.block import block_worker
from coordination.workers.hide_text import hide_text
from coordination.workers.pause import pause_worker
from coordination.workers.show_text import show_text
from coordination.workers.unblock import unblock_worker
from tests.coordination.making import WorkerOf, make_run
from tests.coordination.preparing.conftest import FMT, SEQ, make_raw_run
from worker_client.contract.wire import Task

pytestmark = pytest.mark.django_db

TEXT_ONLY: dict[str, Any] = {"isler": ["on_isle"]}


def test_a_lease_says_all_that_is_needed_and_nothing_of_training(run, ada):
    answer = ada.ask()
    task = answer.json()
    assert Task.model_validate_json(answer.content).to_wire() == task
    assert (task["is"], task["tur"], task["parca"], task["n_parca"]) == ("on_isle", 1, 0, 3)
    assert (task["seq"], task["temizlik"], task["bicim"]) == (SEQ, "v1", FMT.id)
    assert {"adaptor", "veri", "fark", "diller"} & set(task) == set()
    assert task["belirtec"]["sha256"] == task["belirtec_sha256"] == FMT.tokenizer_sha256
    chunk = Chunk.objects.get(index=0)
    assert (task["ham_metin"]["sha256"], task["ham_metin"]["boyut"]) == (chunk.sha256, chunk.size)


def test_languages_are_told(run, ada):
    run.preparation.languages = ["de", "en"]
    run.preparation.save()
    assert ada.lease()["diller"] == ["de", "en"]


def test_each_chunk_is_one_unit(run, preparer):
    people = [preparer(run, name) for name in ("ada", "bob", "cem", "dan")]
    answers = [someone.ask() for someone in people]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 204]
    assert sorted(answer.json()["parca"] for answer in answers[:3]) == [0, 1, 2]


def test_the_text_is_whole_lines_in_their_order(run, preparer, tmp_path):
    found = [preparer(run, name) for name in ("ada", "bob", "cem")]
    parts = [someone.fetch(someone.lease()["ham_metin"]) for someone in found]
    assert all(part.endswith(b"\n") for part in parts)
    assert b"".join(parts) == (tmp_path / "articles.jsonl").read_bytes()


def test_files_are_for_the_holder_of_the_live_lease_alone(run, ada, preparer):
    task = ada.lease()
    bob, stranger = preparer(run, "bob"), WorkerOf(run, "stranger")
    for name in ("ham_metin", "belirtec"):
        address = f"{ada.base}{task[name]['yol']}"
        assert ada.http.get(address).headers["Cache-Control"] == "private, no-store"
        for other in (bob, stranger):
            assert other.http.get(address).status_code == 404
        for gorev in ("", "nothing"):
            assert ada.http.get(f"{ada.base}/{name}?gorev={gorev}").status_code == 404
    Lease.objects.update(expires_at=now() - timedelta(seconds=1))
    assert ada.http.get(f"{ada.base}{task['ham_metin']['yol']}").status_code == 404


def test_nobody_is_shown_text_by_any_other_approval(run, preparer):
    eve = preparer(run, "eve", shown=False)
    assert eve.ask().status_code == 204
    answer = eve.ask(**TEXT_ONLY)
    assert (answer.status_code, answer.json()["kod"]) == (403, "onay_bekliyor")
    assert answer.json()["tekrar"] is True and "Retry-After" in answer.headers
    assert not Lease.objects.exists()


def test_nobody_without_a_name_of_its_own_is_shown_text(run):
    stranger = WorkerOf(run, "stranger")
    assert stranger.ask(isler=["egit", "on_isle"]).status_code == 204
    answer = stranger.ask(**TEXT_ONLY)
    assert (answer.status_code, answer.json()["kod"]) == (401, "belirtec_gerekli")
    assert show_text(Worker.objects.get()) is False


def test_whoever_does_not_offer_it_gets_none(run, ada):
    assert ada.ask(isler=["egit", "olc", "dogrula"]).status_code == 204


def test_only_text_is_leased_before_the_run_begins(run, ada):
    for _ in range(3):
        task = ada.lease()
        assert task["is"] == "on_isle"
        Lease.objects.update(state=Lease.State.EXPIRED)
    assert ada.ask(isler=["egit"]).status_code == 204


def test_taking_the_leave_back_ends_its_leases(run, ada, preparer):
    task = ada.lease()
    body = ada.make(task)
    assert hide_text(ada.row, "a question") and not hide_text(ada.row)
    assert Unit.objects.get(shard=task["parca"], chunk__isnull=False).state == Unit.State.FREE
    assert ada.report(task).json() == {"devam": False}
    assert ada.http.get(f"{ada.base}{task['ham_metin']['yol']}").status_code == 404
    refused = ada.send(task, body)
    assert (refused.status_code, refused.json()["kod"]) == (409, "gorev_dolu")
    assert ada.ask(**TEXT_ONLY).status_code == 403
    verbs = list(WorkerEvent.objects.order_by("pk").values_list("verb", "reason"))
    assert verbs == [("registered", ""), ("text_shown", ""), ("text_hid", "a question")]


def test_training_leases_stay_when_the_leave_is_taken_back(tmp_path, preparer):
    run = make_run(tmp_path)
    ada = preparer(run, "ada")
    task = ada.lease()
    hide_text(ada.row)
    assert ada.report(task).json()["devam"] is True


def test_a_pause_hides_text_and_a_block_for_good(run, ada):
    task = ada.lease()
    pause_worker(ada.row, "a question")
    assert ada.http.get(f"{ada.base}{task['ham_metin']['yol']}").status_code == 403
    unblock_worker(ada.row)
    assert ada.ask().status_code == 200
    block_worker(ada.row, "noise")
    unblock_worker(ada.row)
    assert ada.ask(**TEXT_ONLY).status_code == 403


def test_a_worker_that_waits_for_approval_is_not_shown_text(tmp_path, preparer):
    run = make_raw_run(tmp_path, open_to_all=False)
    ada = preparer(run, "ada", shown=False)
    assert show_text(ada.row) is False
    Worker.objects.update(may_see_text=True)
    assert ada.ask(**TEXT_ONLY).status_code == 403


def test_progress_and_jobs_are_told(run, ada):
    about, status = (ada.http.get(f"{ada.base}/{name}").json() for name in ("bilgi", "durum"))
    assert "on_isle" in about["isler"]
    assert status["durum"] == "hazir" and status["hazirlik"] == {"toplam": 3, "tamam": 0}
    ada.work()
    assert ada.http.get(f"{ada.base}/durum").json()["hazirlik"] == {"toplam": 3, "tamam": 1}
    page = ada.http.get(f"{ada.base}/").content.decode()
    assert "Volunteers are preparing its text." in page and "33.33%" in page


def test_a_run_without_text_has_none_to_prepare(tmp_path, preparer):
    run = make_run(tmp_path)
    ada = preparer(run, "ada")
    answer = ada.ask(**TEXT_ONLY)
    assert (answer.status_code, answer.json()["kod"]) == (410, "bitti")
    assert "on_isle" not in ada.http.get(f"{ada.base}/bilgi").json()["isler"]
    assert "hazirlik" not in ada.http.get(f"{ada.base}/durum").json()
    assert ada.ask().json()["is"] == "egit"


def test_a_pause_stops_the_preparation_and_resuming_goes_on(run, ada):
    task = ada.lease()
    assert pause_run(run, "a question")
    assert ada.ask().status_code == 204
    assert ada.report(task).json()["devam"] is True
    assert ada.send(task, ada.make(task)).status_code == 200
    assert resume_run(run) and not resume_run(run)
    assert Run.objects.get().state == Run.State.READY
    assert ada.lease()["parca"] == 1


def test_an_admin_lets_somebody_see_text_and_is_asked_first(run, preparer, admin_client):
    eve = preparer(run, "eve", shown=False)
    url = "/admin/coordination/worker/"
    body = {"action": "show_text", "_selected_action": [eve.row.pk], "reason": "I know her"}
    page = admin_client.post(url, body)
    assert "cannot be taken back" in page.content.decode() and not eve.row.may_see_text
    admin_client.post(url, body | {"confirmed": "yes"})
    assert eve.row.may_see_text
    event = WorkerEvent.objects.latest("pk")
    assert (event.verb, event.reason) == ("text_shown", "I know her") and event.actor
    admin_client.post(url, body | {"action": "hide_text", "confirmed": "yes"})
    assert not eve.row.may_see_text
