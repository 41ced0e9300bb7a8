"""Bodies and ranges that no client of ours sends, over raw sockets against the real site."""

import json
import secrets
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.coordination.making import vector, write_weights
from tests.e2e.site import PATIENCE_S, Site
from tests.e2e.volunteer import Volunteer
from worker_client.contract.formats import load_format
from worker_client.contract.wire import Task

SLUG = "tiny"
FORMAT = load_format("tiny-qwen3-lora-r4")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with Site(tmp_path_factory.mktemp("transport")) as site:
        site.make_run(SLUG, shards=8)
        site.start()
        yield site


@pytest.fixture
def volunteer(site: Site, tmp_path: Path) -> Volunteer:
    return Volunteer(site.base(SLUG), f"worker-{secrets.token_hex(4)}", tmp_path)


@pytest.fixture
def task(volunteer: Volunteer) -> Task:
    return volunteer.lease()


@pytest.fixture(autouse=True)
def stays_well(site: Site) -> Iterator[None]:
    """Whatever a test sends, the same process still answers others, and made no mistake."""
    yield
    assert site.server is not None and site.server.alive
    assert site.status(SLUG)["durum"] == "acik"
    assert not [line for line in site.server.lines if "Traceback" in line]


def connect(site: Site) -> socket.socket:
    return socket.create_connection(("127.0.0.1", site.port), timeout=PATIENCE_S)


def request(method: str, path: str, **headers: str) -> bytes:
    """A request's head."""
    lines = [f"{method} /c/{SLUG}{path} HTTP/1.1", "Host: 127.0.0.1"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def exchange(site: Site, data: bytes) -> tuple[int, dict[str, Any]]:
    """Send bytes as they are; status and problem of the answer, after which the server closes."""
    with connect(site) as connection:
        connection.sendall(data)
        received = b"".join(iter(lambda: connection.recv(65_536), b""))
    head, _, body = received.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)


def send_and_vanish(site: Site, data: bytes) -> None:
    """Send bytes, then close both ways without waiting for an answer."""
    with connect(site) as connection:
        connection.sendall(data)


@pytest.mark.parametrize("method", ["POST", "PATCH", "PUT"])
def test_a_result_of_10_gb_is_refused_unread(site: Site, method: str) -> None:
    head = request(method, "/sonuc?gorev=x", Content_Length=str(10 * 2**30))
    status, problem = exchange(site, head)
    assert (status, problem["kod"], problem["tekrar"]) == (413, "cok_buyuk", False)


def test_a_result_of_no_announced_length_is_refused(site: Site) -> None:
    head = request("POST", "/sonuc?gorev=x", Transfer_Encoding="chunked")
    status, problem = exchange(site, head + b"5\r\nhello\r\n0\r\n\r\n")
    assert (status, problem["kod"], problem["tekrar"]) == (411, "uzunluk_gerekli", False)


def test_a_chunk_that_breaks_off_leaves_the_upload_where_it_was(
    site: Site, volunteer: Volunteer, task: Task, tmp_path: Path
) -> None:
    result = write_weights(tmp_path / "result", FORMAT, vector(1, FORMAT))
    body = result.read_bytes()
    address = f"/sonuc?gorev={task.lease_id}"
    key = {"X-Modelen-Anahtar": task.lease_key}
    announced = {"boyut": len(body), "sha256": "0" * 64}
    url = site.base(SLUG) + address
    requests.put(url, json=announced, headers=key, timeout=PATIENCE_S).raise_for_status()
    head = request("PATCH", address, Content_Length="1000", Upload_Offset="0", **key)
    send_and_vanish(site, head + body[:500])
    asked = requests.head(url, headers=key, timeout=PATIENCE_S)
    assert asked.headers["Upload-Offset"] == "0"
    assert volunteer.deliver(task, result).accepted


def test_a_whole_result_that_breaks_off_leaves_the_lease_alive(
    site: Site, volunteer: Volunteer, task: Task, tmp_path: Path
) -> None:
    result = write_weights(tmp_path / "result", FORMAT, vector(1, FORMAT))
    body = result.read_bytes()
    head = request(
        "POST",
        f"/sonuc?gorev={task.lease_id}",
        Content_Length=str(len(body)),
        Content_Digest=f"sha-256=:{'A' * 43}=:",
        X_Modelen_Anahtar=task.lease_key,
    )
    send_and_vanish(site, head + body[:-1])
    assert volunteer.deliver(task, result).accepted


def ranged(site: Site, value: str) -> requests.Response:
    url = site.base(SLUG) + "/adaptor?tur=1"
    return requests.get(url, headers={"Range": value}, timeout=PATIENCE_S)


@pytest.fixture(scope="module")
def snapshot_size(site: Site) -> int:
    ((size,),) = site.rows("select size from coordination_snapshot")
    return size


@pytest.mark.parametrize(
    "value", ["bytes=abc", "bytes=9-2", "items=0-1", "bytes=0-1,4-5", "bytes=-"]
)
def test_a_range_that_is_none_is_ignored(site: Site, snapshot_size: int, value: str) -> None:
    answer = ranged(site, value)
    assert (answer.status_code, len(answer.content)) == (200, snapshot_size)


@pytest.mark.parametrize("value", ["bytes=99999999-", "bytes=99999999-100000000", "bytes=-0"])
def test_a_range_outside_the_file_is_416(site: Site, snapshot_size: int, value: str) -> None:
    answer = ranged(site, value)
    assert (answer.status_code, answer.json()["boyut"]) == (416, snapshot_size)


def test_clients_that_trickle_keep_nobody_waiting(site: Site, volunteer: Volunteer) -> None:
    half_head = request("GET", "/durum")[:-2]
    half_body = request("POST", "/gorev", Content_Length="60000") + b"{"
    with ExitStack() as stack:
        slow = [stack.enter_context(connect(site)) for _ in range(40)]
        for number, connection in enumerate(slow):
            connection.sendall(half_head if number % 2 else half_body)
        leased = volunteer.lease()
        assert volunteer.download(leased.snapshot).stat().st_size == leased.snapshot.size
        for connection in slow[1::2]:
            connection.sendall(b"\r\n")
            assert connection.recv(15) == b"HTTP/1.1 200 OK"
