"""The limits that Daphne does not have, over real sockets against a real process."""

import hashlib
import json
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
import requests

from tests.faults.breaking import WrongClock
from tests.modelen_site.processes import ServerProcess, serving

MB = 2**20
APP = "tests/modelen_site/streaming_app.py"


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    with serving(APP, "60", str(64 * MB)) as process:
        yield process


@pytest.fixture(scope="module")
def hasty_server() -> Iterator[ServerProcess]:
    """Cuts a stalled client off after half a second."""
    with serving(APP, "0.5", str(64 * MB)) as process:
        yield process


def connect(server: ServerProcess) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=20)


def exchange(server: ServerProcess, request: bytes) -> bytes:
    """Send raw bytes and return all that comes until the server closes."""
    with connect(server) as connection:
        connection.sendall(request)
        return receive_all(connection)


def receive_all(connection: socket.socket) -> bytes:
    received = bytearray()
    while piece := connection.recv(64 * 1024):
        received += piece
    return bytes(received)


def problem(response: bytes) -> tuple[int, dict[str, object]]:
    """Check that a response is the protocol's; return its status and its body."""
    head, _, body = response.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    assert "Content-Type: application/problem+json" in lines
    assert "X-Modelen-Protokol: 1" in lines
    assert "Connection: close" in lines
    return int(lines[0].split()[1]), json.loads(body)


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "GET"])
def test_a_body_of_10_gb_is_refused_at_its_headers(server: ServerProcess, method: str) -> None:
    request = f"{method} / HTTP/1.1\r\nHost: x\r\nContent-Length: {10 * 1024 * MB}\r\n\r\n"
    status, body = problem(exchange(server, request.encode()))
    assert (status, body["status"]) == (413, 413)
    assert body["kod"] == "cok_buyuk"
    assert body["tekrar"] is False
    assert str(64 * MB) in str(body["detail"])


def test_one_byte_decides(server: ServerProcess) -> None:
    over = f"PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: {64 * MB + 1}\r\n\r\n".encode()
    assert problem(exchange(server, over))[0] == 413
    exact = requests.put(server.url, data=bytes(64 * MB), timeout=60)
    assert exact.text.split()[0] == str(64 * MB)


def test_a_body_of_no_announced_length_is_refused(server: ServerProcess) -> None:
    request = (
        b"PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
    )
    status, body = problem(exchange(server, request))
    assert status == 411
    assert body["kod"] == "uzunluk_gerekli"


def test_a_refused_client_is_not_invited_to_continue(server: ServerProcess) -> None:
    request = (
        f"PUT / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: {65 * MB}\r\n\r\n"
    )
    response = exchange(server, request.encode())
    assert b"100 Continue" not in response
    assert problem(response)[0] == 413


def test_a_client_that_sends_on_regardless_still_reads_its_answer(server: ServerProcess) -> None:
    response = requests.put(server.url, data=bytes(100 * MB), timeout=60)
    assert response.status_code == 413
    assert response.json()["kod"] == "cok_buyuk"


def test_a_request_after_a_refused_one_is_not_answered(server: ServerProcess) -> None:
    smuggled = b"GET /stream?65536 HTTP/1.1\r\nHost: x\r\n\r\n"
    request = b"PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + smuggled
    assert exchange(server, request).count(b"HTTP/1.1 ") == 1


def test_a_get_has_no_body_to_announce(server: ServerProcess) -> None:
    assert len(requests.get(f"{server.url}/stream?131072", timeout=20).content) == 131072


@pytest.mark.parametrize("size", [0, 1, 64 * 1024, 64 * 1024 + 1, 3 * 64 * 1024, 5_000_001])
def test_a_body_arrives_as_it_was_sent(server: ServerProcess, size: int) -> None:
    body = (b"0123456789abcdef" * (size // 16 + 1))[:size]
    answer = requests.put(server.url, data=body, timeout=20).text
    assert answer == f"{size} {hashlib.sha256(body).hexdigest()}"


def test_a_form_arrives_unparsed(server: ServerProcess) -> None:
    answer = requests.post(server.url, data={"a": "b"}, timeout=20).text
    assert answer == f"3 {hashlib.sha256(b'a=b').hexdigest()}"


def test_one_connection_carries_several_requests(server: ServerProcess) -> None:
    with requests.Session() as session:
        answers = [session.put(server.url, data=b"x" * n, timeout=20).text for n in (1, 70_000, 3)]
    assert [answer.split()[0] for answer in answers] == ["1", "70000", "3"]


def test_a_large_upload_stays_out_of_memory() -> None:
    with serving(APP, "60", str(64 * MB)) as server:
        idle = server.memory
        answer = requests.put(server.url, data=bytes(40 * MB), timeout=60).text
        assert answer.split()[0] == str(40 * MB)
        assert server.memory - idle < 10 * MB


def test_a_slow_reader_costs_no_memory() -> None:
    with serving(APP, "60", str(64 * MB)) as server, connect(server) as connection:
        idle = peak = server.memory
        connection.sendall(
            b"GET /stream?209715200 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        )
        received = 0
        for _ in range(200):
            received += len(connection.recv(8 * 1024))
            peak = max(peak, server.memory)
            # Others are answered while one reads slowly.
            assert received > 200 * 1024 or requests.put(server.url, data=b"x", timeout=20).ok
        rest = receive_all(connection)
        assert peak - idle < 10 * MB
        assert received + len(rest) > 200 * MB


def test_a_client_that_reads_nothing_is_cut_off(hasty_server: ServerProcess) -> None:
    with connect(hasty_server) as connection:
        connection.sendall(b"GET /stream?209715200 HTTP/1.1\r\nHost: x\r\n\r\n")
        wait_until_dropped(hasty_server, connection)


def test_a_body_that_never_comes_is_cut_off(hasty_server: ServerProcess) -> None:
    """Closed or reset, as the kernel has it, and without an answer."""
    with connect(hasty_server) as connection:
        connection.sendall(b"PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc")
        with suppress(ConnectionResetError):
            assert connection.recv(1) == b""


def test_headers_that_never_end_are_cut_off(hasty_server: ServerProcess) -> None:
    """Each byte in time, but no request in time."""
    with connect(hasty_server) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\n")
        with pytest.raises(OSError):
            drip(connection, b"X-Padding: ")


def test_a_body_that_drips_is_cut_off(hasty_server: ServerProcess) -> None:
    with connect(hasty_server) as connection:
        connection.sendall(b"PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n")
        with pytest.raises(OSError):
            drip(connection, b"")


@pytest.mark.needs("faketime")
def test_a_stalled_client_is_cut_off_although_the_clock_is_set_back(tmp_path: Path) -> None:
    clock = WrongClock(tmp_path)
    with serving(APP, "2", str(64 * MB), **clock.variables) as server, connect(server) as stalled:
        head = b"PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n"
        stalled.sendall(head)
        assert b" 100 " in stalled.recv(1000)
        clock.set_wrong(-86_400)
        with suppress(ConnectionResetError):
            assert stalled.recv(1) == b""


def drip(connection: socket.socket, prefix: bytes) -> None:
    """Send a byte whenever the server has been silent for a tenth of a second, 100 times."""
    connection.sendall(prefix)
    connection.settimeout(0.1)
    for _ in range(100):
        connection.sendall(b"x")
        try:
            if connection.recv(1) == b"":
                raise ConnectionAbortedError
        except TimeoutError:
            continue


def wait_until_dropped(server: ServerProcess, connection: socket.socket) -> None:
    """Wait, without reading, until the server has no such connection any more."""
    here = connection.getsockname()
    process = psutil.Process(server.process.pid)
    while any(tuple(other.raddr) == here for other in process.net_connections("tcp")):
        time.sleep(0.05)


def test_a_taken_port_is_a_plain_sentence(server: ServerProcess) -> None:
    with (
        pytest.raises(RuntimeError, match="another port"),
        serving(
            "-c",
            "from modelen_site.server import *\n"
            f"Server(None, '127.0.0.1', {server.port}, Limits(), print).run()",
        ),
    ):
        pass


def test_it_ends_at_once_although_a_response_is_under_way() -> None:
    with serving(APP, "60", str(64 * MB)) as server, connect(server) as connection:
        connection.sendall(b"GET /stream?209715200 HTTP/1.1\r\nHost: x\r\n\r\n")
        assert connection.recv(1024)
        assert server.stop() == 0
