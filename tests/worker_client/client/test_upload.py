"""Uploads: in chunks or whole, over broken lines, once only."""

from pathlib import Path

import numpy as np
import pytest

from tests.worker_client.conftest import no_report
from tests.worker_client.little_coordinator import (
    CHUNK,
    Lease,
    LittleCoordinator,
    answer,
    do_but_lose_answer,
    drop_line,
    json_answer,
    problem,
    sha256,
)
from worker_client.client.faults import Final, ProtocolBroken
from worker_client.client.link import Link
from worker_client.client.patience import Patience
from worker_client.client.upload import Parcel, Upload

DATA = np.random.default_rng(4).bytes(3 * CHUNK + 17)


@pytest.fixture
def parcel(server: LittleCoordinator, tmp_path: Path) -> Parcel:
    server.leases["lease-1"] = Lease("lease-1", "0" * 32, 1)
    path = tmp_path / "result.safetensors"
    path.write_bytes(DATA)
    return Parcel("lease-1", "k" * 32, path, sha256(DATA), len(DATA))


@pytest.fixture
def upload(link: Link, patience: Patience) -> Upload:
    return Upload(link, patience, no_report)


def offsets(server: LittleCoordinator) -> list[int]:
    return [int(s.headers["Upload-Offset"]) for s in server.requests("PATCH", "/sonuc")]


def test_a_result_travels_in_chunks(server, upload, parcel):
    verdict = upload.deliver(parcel)
    assert verdict.accepted
    assert server.results == [DATA]
    assert offsets(server) == [0, CHUNK, 2 * CHUNK, 3 * CHUNK]
    assert server.requests("PUT", "/sonuc")[0].json == {"boyut": len(DATA), "sha256": sha256(DATA)}


def test_a_coordinator_without_chunks_gets_the_whole_file(server, upload, parcel, link):
    server.resumable = False
    assert upload.deliver(parcel).accepted
    assert server.results == [DATA]
    sent = server.requests("POST", "/sonuc")[0]
    assert sent.headers["Content-Length"] == str(len(DATA))
    assert link.traffic.up > len(DATA)


def test_a_whole_file_is_sent_again_after_a_broken_line(server, upload, parcel):
    server.resumable = False
    server.next("POST", "/sonuc", drop_line, answer(503), do_but_lose_answer)
    assert upload.deliver(parcel).accepted
    assert server.results == [DATA]


def test_chunks_go_on_where_the_coordinator_is(server, upload, parcel):
    server.next("PATCH", "/sonuc", do_but_lose_answer, answer(503), drop_line)
    assert upload.deliver(parcel).accepted
    assert server.results == [DATA]
    assert offsets(server) == [0, CHUNK, CHUNK, CHUNK, 2 * CHUNK, 3 * CHUNK]


def test_a_wrong_offset_is_put_right(server, upload, parcel):
    wrong = json_answer({"ofset": 5, "parca_boyut": CHUNK})
    server.next("PUT", "/sonuc", wrong)
    assert upload.deliver(parcel).accepted
    assert offsets(server)[:2] == [5, 0]


def test_an_upload_the_coordinator_forgot_is_announced_again(server, upload, parcel):
    def forget(handler) -> None:
        server.leases["lease-1"].announced = None
        handler.problem(409, "duyurulmadi", True)

    server.next("PATCH", "/sonuc", forget)
    assert upload.deliver(parcel).accepted
    assert len(server.requests("PUT", "/sonuc")) == 2


def test_a_verdict_whose_answer_was_lost_is_given_again(server, upload, parcel):
    server.leases["lease-1"].announced = {"boyut": len(DATA), "sha256": sha256(DATA)}
    server.leases["lease-1"].received = bytearray(DATA[: 3 * CHUNK])
    server.next("PATCH", "/sonuc", do_but_lose_answer)
    assert upload.deliver(parcel).accepted
    assert server.results == [DATA]
    assert len(server.requests("PATCH", "/sonuc")) == 1


def test_a_result_being_checked_is_asked_for_again(server, upload, parcel):
    server.next("PATCH", "/sonuc", *[answer(503, headers={"Retry-After": "0"})] * 3)
    assert upload.deliver(parcel).accepted


def test_disk_full_on_the_other_side_is_waited_for_before_a_byte_travels(server, upload, parcel):
    server.next("PUT", "/sonuc", problem(507, "disk_dolu", True))
    assert upload.deliver(parcel).accepted
    assert [s.method for s in server.seen[:2]] == ["PUT", "PUT"]


@pytest.mark.parametrize(
    ("status", "code"),
    [(413, "cok_buyuk"), (409, "gorev_dolu"), (409, "tur_kapandi"), (403, "anahtar_gecersiz"),
     (422, "sonlu_degil"), (422, "taahhut_uyusmuyor"), (400, "bozuk_dosya")],
)  # fmt: skip
def test_final_refusals_end_it(server, upload, parcel, status, code):
    server.next("PUT", "/sonuc", problem(status, code, False))
    with pytest.raises(Final) as caught:
        upload.deliver(parcel)
    assert caught.value.code == code
    assert parcel.path.exists()


def test_a_verdict_about_other_bytes_is_not_believed(server, upload, parcel):
    other = {"kabul": True, "gorev": "lease-1", "tur": 1, "sha256": "0" * 64}
    server.next("PUT", "/sonuc", json_answer(other))
    assert upload.deliver(parcel).sha256 == parcel.sha256


@pytest.mark.parametrize(
    "body",
    [
        {"ofset": -1, "parca_boyut": CHUNK},
        {"ofset": 0, "parca_boyut": 1},
        {"ofset": 0, "parca_boyut": 10**12},
        {"ofset": 10**9, "parca_boyut": CHUNK},
        {},
        {"kabul": "yes"},
    ],
)
def test_numbers_out_of_range_are_no_verdict(server, upload, parcel, body):
    server.next("PUT", "/sonuc", json_answer(body))
    with pytest.raises(ProtocolBroken):
        upload.deliver(parcel)


@pytest.mark.parametrize("offset", ["", "0", "-1", "99999999999", "x"])
def test_a_chunk_answered_with_a_senseless_offset_is_asked_again(server, upload, parcel, offset):
    server.next("PATCH", "/sonuc", answer(204, headers={"Upload-Offset": offset}))
    assert upload.deliver(parcel).accepted
    assert server.results == [DATA]
