"""``/sonuc``: whole and in chunks, honest and not."""

import base64
import hashlib
import io
import json
import pickle
import struct

import numpy as np
import pytest
from safetensors.numpy import save

from coordination.models import Lease, Result, Round, Unit
from coordination.protocol.delivering import write_body
from coordination.results import uploads
from tests.coordination.making import TINY, WorkerOf, make_run, vector
from worker_client.contract.errors import Refusal, Refused
from worker_client.contract.formats import load_format

pytestmark = pytest.mark.django_db
FMT = load_format(TINY)
CHUNK = 64 * 1024


def announce(worker, task, body: bytes, **changes):
    wanted = {"boyut": len(body), "sha256": hashlib.sha256(body).hexdigest()} | changes
    return worker.sonuc(task, "put", data=json.dumps(wanted), content_type="application/json")


def patch(worker, task, data: bytes, offset: int | str, **headers):
    return worker.sonuc(
        task,
        "patch",
        data=data,
        content_type="application/octet-stream",
        headers={"Upload-Offset": str(offset)} | headers,
    )


def send_chunks(worker, task, body: bytes, chunk: int = 10_000):
    for start in range(0, len(body), chunk):
        answer = patch(worker, task, body[start : start + chunk], start)
    return answer


def assert_lease_lives(run):
    assert Lease.objects.get().state == Lease.State.LIVE
    assert not Result.objects.exists()
    assert Unit.objects.filter(state=Unit.State.LEASED).count() == 1


def assert_unit_free_again():
    assert Lease.objects.get().state == Lease.State.REFUSED
    assert Unit.objects.filter(state=Unit.State.FREE).count() == 2
    assert not Result.objects.filter(holds_unit=True).exists()


def test_a_file_in_chunks_is_taken_and_its_verdict_repeats(run, worker, result_file):
    task, body = worker.lease(), result_file(token="64", kayip_son="2.25", cihaz="cpu")
    started = announce(worker, task, body)
    assert started.status_code == 201
    assert started.json() == {"ofset": 0, "parca_boyut": CHUNK}
    verdict = send_chunks(worker, task, body)
    digest = hashlib.sha256(body).hexdigest()
    expected = {"kabul": True, "gorev": task["gorev"], "tur": 1, "sha256": digest}
    assert (verdict.status_code, verdict.json()) == (200, expected)
    assert announce(worker, task, body).json() == expected
    result = Result.objects.get()
    assert (result.tokens, result.loss_last, result.device) == (64, 2.25, "cpu")
    assert not uploads.upload_path(task["gorev"]).exists()


def test_an_interrupted_upload_goes_on_where_it_stopped(run, worker, result_file):
    task, body = worker.lease(), result_file()
    announce(worker, task, body)
    assert patch(worker, task, body[:5000], 0).headers["Upload-Offset"] == "5000"
    head = worker.sonuc(task, "head")
    assert (head.status_code, head.headers["Upload-Offset"]) == (204, "5000")
    again = announce(worker, task, body)
    assert (again.status_code, again.json()["ofset"]) == (200, 5000)
    assert patch(worker, task, body[5000:], 5000).json()["kabul"] is True


def test_other_values_restart_the_upload(run, worker, result_file):
    task, body = worker.lease(), result_file()
    announce(worker, task, body)
    patch(worker, task, body[:5000], 0)
    other = announce(worker, task, result_file(9))
    assert (other.status_code, other.json()["ofset"]) == (201, 0)


@pytest.mark.parametrize("offset", [1, 5001, 4999, 10**14])
def test_a_wrong_offset_is_told_the_right_one(run, worker, result_file, offset):
    task, body = worker.lease(), result_file()
    announce(worker, task, body)
    patch(worker, task, body[:5000], 0)
    answer = patch(worker, task, body[:10], offset)
    assert answer.status_code == 409
    assert (answer.json()["kod"], answer.json()["ofset"]) == ("ofset_uyusmuyor", 5000)
    assert_lease_lives(run)


@pytest.mark.parametrize("offset", ["", "-1", "x", "1e3", "٣"])
def test_an_offset_that_is_no_number_is_refused(run, worker, result_file, offset):
    task, body = worker.lease(), result_file()
    announce(worker, task, body)
    answer = patch(worker, task, body[:10], offset.encode().decode("latin-1"))
    assert (answer.status_code, answer.json()["kod"]) == (400, "gecersiz_istek")


def test_chunks_before_the_announcement_are_told_to_wait(run, worker, result_file):
    task = worker.lease()
    answer = patch(worker, task, b"x", 0)
    assert (answer.status_code, answer.json()["kod"]) == (409, "duyurulmadi")
    assert answer.json()["tekrar"] is True
    assert worker.sonuc(task, "head").status_code == 409


def test_a_chunk_beyond_the_announced_end_or_the_chunk_size_is_too_large(run, worker, result_file):
    task, body = worker.lease(), result_file()
    announce(worker, task, body, boyut=100)
    assert patch(worker, task, body[:101], 0).json()["kod"] == "cok_buyuk"
    assert patch(worker, task, b"x" * (CHUNK + 1), 0).status_code == 413
    assert worker.sonuc(task, "head").headers["Upload-Offset"] == "0"
    assert_lease_lives(run)


def test_a_chunk_above_djangos_own_body_limit_is_taken(tmp_path, settings):
    run = make_run(tmp_path, "large", format="smollm2-135m-lora-r16", chunk_bytes=8 * 2**20)
    worker = WorkerOf(run)
    task, chunk = worker.lease(), bytes(5 * 2**20)
    assert len(chunk) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    started = announce(worker, task, b"", boyut=run.manifest.data_bytes)
    assert started.json()["parca_boyut"] == 8 * 2**20
    answer = patch(worker, task, chunk, 0)
    assert (answer.status_code, answer.headers["Upload-Offset"]) == (204, str(len(chunk)))


def test_an_announcement_of_10_gb_is_refused_before_a_byte_travels(run, worker, result_file):
    task = worker.lease()
    answer = announce(worker, task, b"x", boyut=10 * 10**9)
    assert (answer.status_code, answer.json()["kod"]) == (413, "cok_buyuk")
    assert not uploads.upload_path(task["gorev"]).exists()
    assert_lease_lives(run)


def test_a_full_disk_is_told_before_a_byte_travels(run, worker, result_file, settings):
    settings.DISK_RESERVE_BYTES = 2**60
    task, body = worker.lease(), result_file()
    answer = announce(worker, task, body)
    assert answer.status_code == 507 and answer.json()["tekrar"] is True
    assert answer.headers["Retry-After"]
    assert_lease_lives(run)


def test_a_damaged_upload_starts_again_and_nothing_is_stored(run, worker, result_file):
    task, body = worker.lease(), result_file()
    announce(worker, task, body)
    damaged = body[:-1] + bytes([body[-1] ^ 1])
    answer = send_chunks(worker, task, damaged)
    assert (answer.status_code, answer.json()["kod"]) == (400, "ozet_uyusmuyor")
    assert_lease_lives(run)
    assert announce(worker, task, body).json()["ofset"] == 0
    assert send_chunks(worker, task, body).json()["kabul"] is True


def test_an_upload_held_by_another_request_is_busy(run, worker, result_file):
    task, body = worker.lease(), result_file()
    announce(worker, task, body)
    with uploads.exclusive(task["gorev"]):
        answer = patch(worker, task, body[:10], 0)
    assert (answer.status_code, answer.json()["kod"]) == (503, "denetleniyor")
    assert answer.headers["Retry-After"] == "1"


def test_the_whole_file_in_one_post_and_again(run, worker, result_file, post_whole):
    task, body = worker.lease(), result_file()
    first, again = post_whole(worker, task, body), post_whole(worker, task, body)
    assert first.status_code == 200 and first.json() == again.json()
    assert Result.objects.count() == 1


@pytest.mark.parametrize(
    ("header", "code"),
    [
        ("", "gecersiz_istek"),
        ("md5=:abc:", "gecersiz_istek"),
        (f"sha-256=:{base64.b64encode(b'0' * 32).decode()}:", "ozet_uyusmuyor"),
    ],
)
def test_a_post_without_a_true_digest_stores_nothing(
    run, worker, result_file, post_whole, header, code
):
    answer = post_whole(worker, worker.lease(), result_file(), **{"Content-Digest": header})
    assert (answer.status_code, answer.json()["kod"]) == (400, code)
    assert_lease_lives(run)


def test_a_body_that_breaks_off_is_not_taken(run, worker, result_file, tmp_path):
    """A server that streams bodies hands over what came before the line broke."""
    body = result_file()
    digest, broken = hashlib.sha256(body).hexdigest(), io.BytesIO(body[:-7])
    with pytest.raises(Refused) as whole:
        write_body(broken, tmp_path / "whole", len(body), digest)
    task = worker.lease()
    announce(worker, task, body)
    lease = Lease.objects.get()
    with uploads.exclusive(lease.token) as file, pytest.raises(Refused) as chunk:
        uploads.append(file, uploads.announced(lease), 0, io.BytesIO(b"abc"), 10)
    assert whole.value.refusal is chunk.value.refusal is Refusal.BODY_SHORT
    assert worker.sonuc(task, "head").headers["Upload-Offset"] == "0"
    assert_lease_lives(run)


@pytest.mark.parametrize("length", ["", "-1", "x", None])
def test_a_post_without_a_length_is_asked_for_it(run, worker, result_file, length):
    task = worker.lease()
    answer = worker.http.generic(
        "POST",
        f"{worker.base}/sonuc?gorev={task['gorev']}",
        b"",
        CONTENT_LENGTH=length or "",
        HTTP_X_MODELEN_ANAHTAR=task["anahtar"],
    )
    assert (answer.status_code, answer.json()["kod"]) == (411, "uzunluk_gerekli")


def test_a_wrong_key_and_an_unknown_task_touch_nothing(run, worker, result_file, post_whole):
    task = worker.lease()
    for key in ("", "0" * 64, task["anahtar"][:-1]):
        answer = worker.sonuc(task, "get", key=key)
        assert (answer.status_code, answer.json()["kod"]) == (403, "anahtar_gecersiz")
    answer = worker.sonuc(task | {"gorev": "nosuch"}, "get")
    assert (answer.status_code, answer.json()["kod"]) == (404, "gorev_yok")
    assert_lease_lives(run)


def _tensors(**changes) -> dict[str, np.ndarray]:
    flat, arrays, at = vector(1, FMT), {}, 0
    for spec in FMT.tensors:
        arrays[spec.name] = flat[at : at + spec.count].reshape(spec.shape)
        at += spec.count
    return arrays | changes


FIRST = FMT.tensors[0].name


def _without_first() -> bytes:
    arrays = _tensors()
    del arrays[FIRST]
    return save(arrays)


def _first(value) -> bytes:
    return save(_tensors(**{FIRST: value}))


def _filled(value: float) -> bytes:
    array = np.zeros(FMT.tensors[0].shape, np.float32)
    array[1, 2] = value
    return _first(array)


SHAPE = FMT.tensors[0].shape
GOOD = save(_tensors())
BAD_FILES = {
    "empty header": (struct.pack("<Q", 2) + b"{}", 422, "eksik_tensor"),
    "one byte": (b"\0", 400, "bozuk_dosya"),
    "truncated": (GOOD[:-5], 400, "bozuk_dosya"),
    "longer than its header says": (GOOD + b"\0", 400, "bozuk_dosya"),
    "header longer than the file": (struct.pack("<Q", 2**40) + GOOD[8:], 400, "bozuk_dosya"),
    "header length overflowing": (b"\xff" * 8 + GOOD[8:], 400, "bozuk_dosya"),
    "not safetensors": (b"<html>" * 5000, 400, "bozuk_dosya"),
    "a pickle": (pickle.dumps({"w": [1.0] * 5000}), 400, "bozuk_dosya"),
    "json array": (struct.pack("<Q", 2) + b"[]", 400, "bozuk_dosya"),
    "missing tensor": (_without_first(), 422, "eksik_tensor"),
    "extra tensor": (save(_tensors(extra=np.zeros(3, np.float32))), 422, "fazla_tensor"),
    "wrong shape": (_first(np.zeros((SHAPE[0], SHAPE[1] + 1), np.float32)), 422, "yanlis_sekil"),
    "transposed": (_first(np.zeros(SHAPE[::-1], np.float32)), 422, "yanlis_sekil"),
    "float16": (_first(np.zeros(SHAPE, np.float16)), 422, "yanlis_tur"),
    "int32": (_first(np.zeros(SHAPE, np.int32)), 422, "yanlis_tur"),
    "nan": (_filled(np.nan), 422, "sonlu_degil"),
    "infinite": (_filled(-np.inf), 422, "sonlu_degil"),
    "enormous but finite": (_filled(3e38), 422, "norm_asimi"),
}


@pytest.mark.parametrize("case", BAD_FILES)
@pytest.mark.parametrize("whole", [True, False], ids=["whole", "chunks"])
def test_a_bad_file_is_refused_and_its_unit_is_free_again(run, worker, post_whole, case, whole):
    body, status, code = BAD_FILES[case]
    task = worker.lease()
    if whole:
        answer = post_whole(worker, task, body)
    else:
        announce(worker, task, body)
        answer = send_chunks(worker, task, body, CHUNK)
    assert (answer.status_code, answer.json()["kod"]) == (status, code), answer.json()
    assert answer.json()["tekrar"] is False and len(answer.json()["detail"]) > 20
    assert_unit_free_again()
    assert post_whole(worker, task, body).json()["kod"] == code, "the verdict is stored"
    assert worker.sonuc(task, "get").json() == {"durum": "ret", "kod": code}


def test_an_empty_body_is_not_a_result(run, worker, post_whole):
    answer = post_whole(worker, worker.lease(), b"", **{"Content-Length": "0"})
    assert answer.status_code == 400 and answer.json()["kod"] == "bozuk_dosya"


def test_tensors_in_any_order_are_stored_in_manifest_order(run, worker, post_whole):
    from coordination.storage import result_vector

    shuffled = dict(sorted(_tensors().items(), key=lambda item: hash(item[0])))
    assert post_whole(worker, worker.lease(), save(shuffled)).status_code == 200
    stored = result_vector(Result.objects.get())
    np.testing.assert_array_equal(stored.read(0, stored.count), vector(1, FMT))


def test_other_bytes_after_an_accepted_result_are_refused(run, worker, result_file, post_whole):
    task = worker.lease()
    post_whole(worker, task, result_file(2))
    answer = post_whole(worker, task, result_file(3))
    assert (answer.status_code, answer.json()["kod"]) == (409, "gorev_dolu")
    assert Result.objects.filter(holds_unit=True).count() == 1


def test_an_expired_lease_whose_unit_another_has_filled_is_told(
    run, worker, result_file, post_whole
):
    late = worker.lease()
    Lease.objects.update(state=Lease.State.EXPIRED)
    Unit.objects.update(state=Unit.State.FREE)
    other = WorkerOf(run, "bob")
    post_whole(other, other.lease(), result_file(2))
    answer = post_whole(worker, late, result_file(3))
    assert (answer.status_code, answer.json()["kod"]) == (409, "gorev_dolu")


def test_a_late_result_of_an_expired_lease_ends_the_lease_that_replaced_it(
    run, worker, result_file, post_whole
):
    late = worker.lease()
    Lease.objects.update(state=Lease.State.EXPIRED)
    Unit.objects.filter(shard=late["parca"]).update(state=Unit.State.FREE)
    other = WorkerOf(run, "bob")
    replacement = other.lease()
    assert replacement["parca"] == late["parca"]
    assert post_whole(worker, late, result_file(3)).status_code == 200
    url = f"{other.base}/gorev/{replacement['gorev']}/nabiz"
    body = {"anahtar": replacement["anahtar"]}
    heard = other.http.post(url, body, content_type="application/json").json()
    assert heard == {"devam": False}
    assert post_whole(other, replacement, result_file(4)).json()["kod"] == "gorev_dolu"


def test_a_result_for_a_closed_round_is_told_so(run, worker, result_file, post_whole):
    task = worker.lease()
    Round.objects.update(state=Round.State.MERGING)
    answer = post_whole(worker, task, result_file())
    assert (answer.status_code, answer.json()["kod"]) == (409, "tur_kapandi")


def test_a_refused_result_of_an_expired_lease_leaves_the_new_lease_alone(
    run, worker, post_whole, result_file
):
    late = worker.lease()
    Lease.objects.update(state=Lease.State.EXPIRED)
    Unit.objects.update(state=Unit.State.FREE)
    other = WorkerOf(run, "bob")
    task = other.lease()
    assert post_whole(worker, late, BAD_FILES["nan"][0]).status_code == 422
    assert Unit.objects.get(shard=task["parca"]).state == Unit.State.LEASED
    assert post_whole(other, task, result_file()).status_code == 200


def test_a_promised_digest_binds(run, worker, result_file, post_whole):
    task, body = worker.lease(), result_file()
    promise = {"anahtar": task["anahtar"], "ozet": hashlib.sha256(body).hexdigest()}
    url = f"{worker.base}/gorev/{task['gorev']}/nabiz"
    worker.http.post(url, promise, content_type="application/json")
    answer = post_whole(worker, task, result_file(7))
    assert (answer.status_code, answer.json()["kod"]) == (422, "taahhut_uyusmuyor")
    assert_unit_free_again()


def test_a_promise_cannot_be_changed_and_trying_costs_nothing(run, worker, result_file, post_whole):
    task, body = worker.lease(), result_file()
    url = f"{worker.base}/gorev/{task['gorev']}/nabiz"

    def promise(sha256: str):
        told = {"anahtar": task["anahtar"], "ozet": sha256}
        return worker.http.post(url, told, content_type="application/json")

    mine = hashlib.sha256(body).hexdigest()
    assert promise(mine).status_code == promise(mine).status_code == 200
    changed = promise("0" * 64)
    assert (changed.status_code, changed.json()["kod"]) == (422, "taahhut_uyusmuyor")
    assert worker.report(task).json()["devam"] is True
    assert post_whole(worker, task, body).status_code == 200


def test_the_fate_of_a_result_follows_it_to_the_merge(run, result_file, post_whole):
    from coordination.rounds.reconcile import reconcile

    tasks = []
    for name in ("ada", "bob"):
        worker = WorkerOf(run, name)
        task = worker.lease()
        assert worker.sonuc(task, "get").status_code == 404
        post_whole(worker, task, result_file(len(name) + len(tasks)))
        tasks.append(task)
    assert worker.sonuc(tasks[0], "get", key=tasks[0]["anahtar"]).json() == {"durum": "bekliyor"}
    reconcile()
    assert worker.sonuc(tasks[1], "get").json() == {"durum": "birlesti", "agirlik": 0.5}
