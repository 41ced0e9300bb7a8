"""A disk that is really full: nothing is lost, and the worker is told to come again."""

import hashlib
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from coordination.models import Lease, Result
from coordination.results import uploads
from tests.coordination.making import WorkerOf, make_run

pytestmark = [pytest.mark.django_db, pytest.mark.needs("root")]


@pytest.fixture
def small_disk(tmp_path: Path, settings) -> Iterator[Path]:
    """A file system of 1 MiB that holds blobs and uploads."""
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk], check=True)
    settings.BLOB_ROOT, settings.UPLOAD_ROOT = disk / "blobs", disk / "uploads"
    yield disk
    subprocess.run(["umount", disk], check=True)


def fill(disk: Path) -> Path:
    ballast = disk / "ballast"
    with open(ballast, "wb", buffering=0) as file:
        try:
            while True:
                file.write(b"\0" * 4096)
        except OSError:
            return ballast


def send(worker: WorkerOf, task: dict, method: str, data: bytes, kind: str, **headers: str):
    return worker.sonuc(task, method, data=data, content_type=kind, headers=headers)


def announce(worker: WorkerOf, task: dict, body: bytes):
    wanted = {"boyut": len(body), "sha256": hashlib.sha256(body).hexdigest()}
    return send(worker, task, "put", json.dumps(wanted).encode(), "application/json")


def patch(worker: WorkerOf, task: dict, data: bytes, offset: int):
    headers = {"Upload-Offset": str(offset)}
    return send(worker, task, "patch", data, "application/octet-stream", **headers)


def assert_told_to_wait(answer) -> None:
    assert (answer.status_code, answer.json()["kod"]) == (507, "disk_dolu")
    assert answer.json()["tekrar"] is True and answer.headers["Retry-After"]
    assert Lease.objects.get().state == Lease.State.LIVE
    assert not Result.objects.exists()


def test_it_is_noticed_before_a_byte_travels(small_disk, tmp_path, result_file, post_whole):
    run = make_run(tmp_path)
    worker, body = WorkerOf(run), result_file()
    task = worker.lease()
    ballast = fill(small_disk)
    assert_told_to_wait(announce(worker, task, body))
    assert_told_to_wait(post_whole(worker, task, body))
    ballast.unlink()
    assert post_whole(worker, task, body).status_code == 200


def test_it_fills_up_between_the_chunks(small_disk, tmp_path, result_file):
    run = make_run(tmp_path)
    worker, body = WorkerOf(run), result_file()
    task = worker.lease()
    announce(worker, task, body)
    assert patch(worker, task, body[:5000], 0).status_code == 204
    ballast = fill(small_disk)
    assert_told_to_wait(patch(worker, task, body[5000:], 5000))
    assert uploads.offset(Lease.objects.get()) == 5000
    ballast.unlink()
    assert patch(worker, task, body[5000:], 5000).json()["kabul"] is True


def test_it_fills_up_while_the_result_is_checked(small_disk, tmp_path, result_file):
    run = make_run(tmp_path)
    worker, body = WorkerOf(run), result_file()
    task = worker.lease()
    announce(worker, task, body)
    patch(worker, task, body[:-100], 0)
    ballast = fill(small_disk)
    last = patch(worker, task, body[-100:], len(body) - 100)
    assert_told_to_wait(last)
    ballast.unlink()
    answer = announce(worker, task, body)
    if answer.status_code != 200 or "kabul" not in answer.json():
        answer = patch(worker, task, body[-100:], len(body) - 100)
    assert answer.json()["kabul"] is True
