"""The server prepares some chunks itself: the same text makes the same rows."""

import numpy as np
import pytest

from coordination.models import Check, Preparation, Result, Run, Unit, WorkerEvent
from coordination.preparing.advance import advance
from coordination.preparing.begin import standing_of
from coordination.preparing.check import judge_rows
from coordination.rounds.pause import resume_run
from coordination.storage import blobs
from coordination.workers.show_text import show_text
from tests.coordination.preparing.conftest import SEQ, judge_all, make_raw_run, rows_file

pytestmark = pytest.mark.django_db


def test_the_first_chunk_is_always_repeated_and_honest_rows_agree(run, ada):
    Run.objects.update(check_floor=0)
    ada.work()
    check = Check.objects.get()
    assert (check.state, check.reason) == (Check.State.PENDING, Check.Reason.UNPROVEN)
    assert advance(run.pk) is False  # two chunks are missing
    check.refresh_from_db()
    assert check.state == Check.State.VALID and check.evidence[0]["agrees"] is True
    assert ada.row.may_see_text


def test_later_ones_are_repeated_by_lot(tmp_path, preparer):
    run = make_raw_run(tmp_path, articles=80)
    ada = preparer(run, "ada")
    for _ in range(40):
        task = ada.lease()
        assert ada.send(task, rows_file(np.full((2, SEQ), 65))).status_code == 200
        judge_all(run)
    checked = Check.objects.filter(state=Check.State.VALID)
    assert 2 <= checked.count() < 25
    assert checked.filter(reason=Check.Reason.UNPROVEN).count() == 1
    assert standing_of(ada.row).consecutive_valid == checked.count()


def test_wrong_rows_cost_the_leave_and_all_that_nobody_compared(run, ada, preparer):
    first = ada.work()
    judge_all(run)
    Check.objects.update(decided_at="2026-01-01T00:00Z")
    unchecked = ada.work()
    Check.objects.exclude(state=Check.State.VALID).delete()  # the lot passed it over
    lie = ada.lie()
    result = Result.objects.get(lease__token=lie["gorev"])
    Check.objects.get_or_create(result=result, defaults={"reason": Check.Reason.DRAWN})
    advance(run.pk)
    fates = [ada.sonuc(task, "get").json() for task in (first, unchecked, lie)]
    assert fates == [
        {"durum": "kullanildi"},
        {"durum": "denetlenemedi"},
        {"durum": "elendi", "kod": "dogrulama_tutmadi"},
    ]
    assert not ada.row.may_see_text and standing_of(ada.row).consecutive_valid == 0
    assert "differ" in WorkerEvent.objects.latest("pk").reason
    free = Unit.objects.filter(state=Unit.State.FREE).values_list("shard", flat=True)
    assert set(free) == {unchecked["parca"], lie["parca"]}
    bob = preparer(run, "bob")
    assert {bob.work()["parca"], bob.work()["parca"]} == set(free)


def test_what_was_wrong_is_not_given_to_the_same_worker_again(run, ada):
    lie = ada.lie()
    advance(run.pk)
    show_text(ada.row)
    assert ada.lease()["parca"] != lie["parca"]


def test_a_verdict_is_reached_once(run, ada):
    ada.work()
    check = Check.objects.get()
    judge_rows(check, "0" * 64)
    judge_rows(check, check.result.vector_sha256)
    check.refresh_from_db()
    assert check.state == Check.State.INVALID


def test_admins_see_what_was_compared(run, ada, admin_client):
    ada.lie()
    advance(run.pk)
    check = Check.objects.get()
    pages = ("/admin/coordination/check/", f"/admin/coordination/check/{check.pk}/change/")
    told = [admin_client.get(page).content.decode() for page in pages]
    assert check.evidence[0]["rows"][:12] in told[0]
    assert "others than those that came" in told[1]


def test_what_the_server_cannot_prepare_pauses_the_run(run, ada):
    ada.work()
    with blobs().new_file() as writer:
        writer.write(b"no tokenizer")
        bad = writer.seal().sha256
    good = Preparation.objects.get().tokenizer_sha256
    Preparation.objects.update(tokenizer_sha256=bad)
    assert advance(run.pk) is False
    run.refresh_from_db()
    assert run.state == Run.State.PAUSED and "no tokenizer.json" in run.pause_reason
    Preparation.objects.update(tokenizer_sha256=good)
    resume_run(run)
    advance(run.pk)
    assert Check.objects.get().state == Check.State.VALID
