"""What comes back is believed in nothing that can be checked."""

import hashlib

import numpy as np
import pytest

from coordination.models import Lease, Result, Unit
from tests.coordination.preparing.conftest import FMT, SEQ, rows_file
from worker_client.contract.tensors import build_header

pytestmark = pytest.mark.django_db

ROWS = np.full((3, SEQ), 65)


def test_rows_are_taken_and_their_fate_is_known(run, ada):
    task = ada.lease()
    body = ada.make(task)
    answers = [ada.send(task, body) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [200, 200]
    assert answers[0].json() == answers[1].json()
    assert ada.sonuc(task, "get").json() == {"durum": "kullanildi"}
    (result,) = Result.objects.all()
    assert result.tokens
    header_end = len(body) - 4 * SEQ * (result.tokens // (SEQ - 1))
    assert result.vector_sha256 == hashlib.sha256(body[header_end:]).hexdigest()
    assert (result.state, result.train_seconds) == (Result.State.USED, 1.5)
    receipt = ada.http.get(f"{ada.base}/makbuz").json()["makbuz"][0]
    assert (receipt["is"], receipt["parca"], receipt["durum"]) == ("on_isle", 0, "kullanildi")


def test_it_comes_in_chunks_too(run, ada):
    task = ada.lease()
    body = ada.make(task)
    announced = {"boyut": len(body), "sha256": hashlib.sha256(body).hexdigest()}
    ada.sonuc(task, "put", data=announced, content_type="application/json")
    headers = {"Upload-Offset": "0"}
    kind = "application/octet-stream"
    done = ada.sonuc(task, "patch", data=body, content_type=kind, headers=headers)
    assert done.status_code == 200 and done.json()["kabul"] is True


def test_no_rows_are_a_result_like_any_other(run, ada):
    task = ada.lease()
    assert ada.send(task, rows_file(np.zeros((0, SEQ)))).status_code == 200
    assert Result.objects.get().vector_sha256 == hashlib.sha256(b"").hexdigest()


def _tensors(*listed: tuple[str, str, tuple[int, ...]]) -> bytes:
    metadata = {"belirtec_sha256": FMT.tokenizer_sha256 or "", "token": "45", "bayt": "45"}
    size = sum({"I32": 4, "I64": 8, "F32": 4}[kind] * int(np.prod(s)) for _, kind, s in listed)
    return build_header(listed, metadata) + bytes(size)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"no file", "bozuk_dosya"),
        (rows_file(ROWS)[:-4], "bozuk_dosya"),
        (_tensors(("ids", "I32", (3, SEQ))), "eksik_tensor"),
        (_tensors(("input_ids", "I32", (3, SEQ)), ("labels", "I32", (3, SEQ))), "fazla_tensor"),
        (_tensors(("input_ids", "I64", (3, SEQ))), "yanlis_tur"),
        (_tensors(("input_ids", "F32", (3, SEQ))), "yanlis_tur"),
        (_tensors(("input_ids", "I32", (3, SEQ + 1))), "yanlis_sekil"),
        (_tensors(("input_ids", "I32", (3 * SEQ,))), "yanlis_sekil"),
        (_tensors(("input_ids", "I32", (1, 3, SEQ))), "yanlis_sekil"),
        (rows_file(np.full((3, SEQ), FMT.vocab_size)), "bozuk_dosya"),
        (rows_file(np.full((3, SEQ), -1)), "bozuk_dosya"),
        (rows_file(ROWS, belirtec_sha256="0" * 64), "bozuk_dosya"),
        (rows_file(ROWS, token="46"), "bozuk_dosya"),
        (rows_file(ROWS, bayt="many"), "bozuk_dosya"),
        (rows_file(np.full((400, SEQ), 65)), "yanlis_sekil"),
    ],
)
def test_what_is_no_shard_is_refused_and_another_is_asked(run, ada, preparer, body, code):
    task = ada.lease()
    answer = ada.send(task, body)
    assert (answer.status_code, answer.json()["kod"]) == (400 if "bozuk" in code else 422, code)
    assert ada.sonuc(task, "get").json() == {"durum": "ret", "kod": code}
    assert Lease.objects.get().state == Lease.State.REFUSED
    assert not Unit.objects.exclude(state=Unit.State.FREE).exists()
    assert ada.lease()["parca"] == 1  # it would give the same again
    assert preparer(run, "bob").lease()["parca"] == 0


def test_a_file_that_no_text_can_become_is_refused_by_its_length(run, ada):
    task = ada.lease()
    announced = {"boyut": 2**20 + 13 * task["ham_metin"]["boyut"], "sha256": "0" * 64}
    answer = ada.sonuc(task, "put", data=announced, content_type="application/json")
    assert (answer.status_code, answer.json()["kod"]) == (413, "cok_buyuk")


def test_of_two_the_first_counts(run, ada, preparer):
    task = ada.lease()
    body = ada.make(task)
    Lease.objects.update(state=Lease.State.EXPIRED)
    Unit.objects.update(state=Unit.State.FREE)
    bob = preparer(run, "bob")
    assert bob.work()["parca"] == task["parca"]
    assert ada.send(task, body).json()["kod"] == "gorev_dolu"


def test_preparing_is_no_training(run, ada):
    """Neither speed nor trust nor tokens of training follow from it."""
    ada.work()
    row = ada.row
    assert (row.task_seconds, row.consecutive_valid, row.checks_valid) == (None, 0, 0)
    board = ada.http.get(f"{ada.base}/siralama").content.decode()
    assert "ada" in board
    status = ada.http.get(f"{ada.base}/durum").json()
    assert status["sonuc"] == {"kabul": 0, "ret": 0, "elenen": 0}
