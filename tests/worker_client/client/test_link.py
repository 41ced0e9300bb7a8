"""One request at a time against a coordinator that behaves, and many that do not."""

import gzip
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from tests.worker_client.little_coordinator import (
    LittleCoordinator,
    answer,
    bare,
    drop_line,
    endless,
    json_answer,
    problem,
    serving,
)
from worker_client.client import deadlines
from worker_client.client.coordinator import about
from worker_client.client.faults import Final, Passing, ProtocolBroken
from worker_client.client.link import Link

OK = b"HTTP/1.1 200 OK\r\nX-Modelen-Protokol: 1\r\nContent-Length: 2\r\n\r\n{}"


def test_requests_say_who_asks_and_that_files_come_unencoded(server: LittleCoordinator, link: Link):
    link.call("GET", "/bilgi")
    headers = server.seen[0].headers
    assert headers["X-Modelen-Protokol"] == "1"
    assert headers["User-Agent"].startswith("modelen-worker/")
    assert headers["Accept-Encoding"] == "identity"


def test_no_password_or_cookie_travels(server, link, tmp_path, monkeypatch):
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login someone password secret\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    server.next("GET", "/bilgi", answer(200, b"{}", {"Set-Cookie": "track=1; Path=/"}))
    link.call("GET", "/bilgi")
    link.call("GET", "/durum")
    for request in server.seen:
        assert "Authorization" not in request.headers
        assert "Cookie" not in request.headers


@pytest.mark.parametrize("status", [200, 404, 403, 500])
def test_an_answer_without_the_header_is_passing_whatever_its_status(server, link, status):
    server.next("GET", "/bilgi", bare(status, b"<html>Welcome to our hotel</html>"))
    with pytest.raises(Passing, match="not from a coordinator"):
        link.call("GET", "/bilgi")


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 507])
def test_some_statuses_pass_by_themselves(server, link, status):
    server.next("GET", "/bilgi", answer(status))
    with pytest.raises(Passing) as caught:
        link.call("GET", "/bilgi")
    assert caught.value.status == status


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 413, 422])
def test_other_client_errors_are_final(server, link, status):
    server.next("GET", "/bilgi", answer(status))
    with pytest.raises(Final):
        link.call("GET", "/bilgi")


def test_tekrar_overrules_the_status(server, link):
    server.next("GET", "/bilgi", problem(503, "kapali", False), problem(409, "isci_mesgul", True))
    with pytest.raises(Final, match="because kapali"):
        link.call("GET", "/bilgi")
    with pytest.raises(Passing) as caught:
        link.call("GET", "/bilgi")
    assert caught.value.code == "isci_mesgul"


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("7", 7), ("999999999999999", 86_400), ("-5", 0), ("soon", 0), ("1.5", 0), ("", 0)],
)
def test_retry_after_is_read_in_seconds_up_to_a_day(server, link, header, seconds):
    server.next("GET", "/bilgi", answer(503, headers={"Retry-After": header}))
    with pytest.raises(Passing) as caught:
        link.call("GET", "/bilgi")
    assert caught.value.retry_after == seconds


def test_a_redirect_to_another_host_is_refused_and_never_followed(server, link):
    with serving(LittleCoordinator()) as other:
        server.next("GET", "/bilgi", answer(302, headers={"Location": other.url + "/bilgi"}))
        with pytest.raises(Final, match="refused a redirect"):
            link.call("GET", "/bilgi")
        assert other.seen == []


@pytest.mark.parametrize(
    "target", ["/elsewhere", "/c/other/bilgi", "//evil.test/c/little", "//[", ""]
)
def test_a_redirect_out_of_the_base_path_is_refused(server, link, target):
    server.next("GET", "/bilgi", answer(307, headers={"Location": target or "/c/little/../x"}))
    with pytest.raises(Final, match="refused a redirect"):
        link.call("GET", "/bilgi")


def test_a_token_goes_to_its_coordinator_alone(server, link):
    link.token = "mwk_" + "a" * 43
    with serving(LittleCoordinator()) as other:
        outside = answer(307, headers={"Location": other.url + "/bilgi"})
        inside = answer(307, headers={"Location": "/c/little/durum"})
        server.next("GET", "/bilgi", outside, inside)
        with pytest.raises(Final, match="refused a redirect"):
            link.call("GET", "/bilgi")
        assert link.call("GET", "/bilgi").status == 200
        assert other.seen == []
    shown = [(seen.path, seen.headers.get("Authorization")) for seen in server.seen]
    bearer = f"Bearer {link.token}"
    assert shown == [("/bilgi", bearer), ("/bilgi", bearer), ("/durum", bearer)]
    assert link.twin().token == link.token


def test_a_captive_portals_redirect_is_passing(server, link):
    server.next("GET", "/bilgi", bare(302, b"", {"Location": "http://login.hotel.test/"}))
    with pytest.raises(Passing, match="refused a redirect"):
        link.call("GET", "/bilgi")


def test_a_redirect_below_the_base_is_followed_but_not_for_ever(server, link):
    server.next("GET", "/old", answer(301, headers={"Location": "/c/little/bilgi"}))
    assert link.call("GET", "/old").status == 200
    loop = answer(307, headers={"Location": "/c/little/loop"})
    server.next("GET", "/loop", *[loop] * 10)
    with pytest.raises(Passing, match="circle"):
        link.call("GET", "/loop")


def test_a_body_that_never_ends_is_cut_off(server, link):
    server.next("GET", "/bilgi", endless)
    with pytest.raises(Passing, match="longer"):
        link.call("GET", "/bilgi")
    assert link.traffic.down < 2 * 2**20


def test_an_error_page_that_never_ends_is_cut_off(server, link):
    def endless_error(handler) -> None:
        handler.send_response(400)
        handler.send_header("X-Modelen-Protokol", "1")
        handler.end_headers()
        handler.close_connection = True
        with pytest.raises(OSError):
            while True:
                handler.wfile.write(b"{" * 65536)

    server.next("GET", "/bilgi", endless_error)
    with pytest.raises(Final, match="HTTP 400"):
        link.call("GET", "/bilgi")


def test_an_encoded_answer_is_refused(server, link):
    body = gzip.compress(b"{}" * 1000)
    server.next("GET", "/bilgi", answer(200, body, {"Content-Encoding": "gzip"}))
    with pytest.raises(Passing, match="encoded"):
        link.call("GET", "/bilgi")


@pytest.mark.parametrize(
    "body", [b"<html>", b"", b"[]", b"[" * 30_000, b'{"protokol": NaN}', b"\xff"]
)
def test_what_is_no_message_breaks_the_protocol(server, link, body):
    server.next("GET", "/bilgi", answer(200, body))
    with pytest.raises(ProtocolBroken, match="breaks the protocol"):
        about(link)


def test_a_number_out_of_range_is_named(server, link):
    server.about_changes = {"ic_adim": 10**9}
    with pytest.raises(ProtocolBroken, match="ic_adim"):
        about(link)


def test_a_lost_line_and_a_shut_port_are_passing(server, link):
    server.next("GET", "/bilgi", drop_line)
    with pytest.raises(Passing, match="no proper answer"):
        link.call("GET", "/bilgi")
    with pytest.raises(Passing, match="refused"):
        Link("http://127.0.0.1:1/c/x").call("GET", "/bilgi")


def test_the_environments_proxy_is_used(server, monkeypatch):
    """The name resolves nowhere, so only the proxy (which answers 404) can have answered."""
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{server.port}")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    with pytest.raises(Passing) as caught:
        Link("http://coordinator.invalid/c/x").call("GET", "/bilgi")
    assert caught.value.status == 404


@contextmanager
def raw_server(serve: Callable[[socket.socket], None]) -> Iterator[str]:
    """A socket that hands its first connection to ``serve`` after the request's headers."""
    listener = socket.create_server(("127.0.0.1", 0))

    def run() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(65536)
            try:
                serve(connection)
            except OSError:
                return

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}/c/x"
    listener.close()
    thread.join(10)


def drip(data: bytes) -> Callable[[socket.socket], None]:
    def serve(connection: socket.socket) -> None:
        for byte in data:
            connection.sendall(bytes([byte]))
            time.sleep(0.02)

    return serve


def test_headers_that_drip_are_cut_off(monkeypatch):
    monkeypatch.setattr(deadlines, "HEADERS_S", 0.2)
    with raw_server(drip(OK)) as url, pytest.raises(Passing, match="no proper answer"):
        Link(url).call("GET", "/bilgi")


def test_a_body_that_drips_is_cut_off(monkeypatch):
    monkeypatch.setattr(deadlines, "LOW_SPEED_WINDOW_S", 0.2)
    head = OK.replace(b"Length: 2", b"Length: 100").removesuffix(b"{}")

    def serve(connection: socket.socket) -> None:
        connection.sendall(head)
        drip(b" " * 98 + b"{}")(connection)

    with raw_server(serve) as url, pytest.raises(Passing, match="only"):
        Link(url).call("GET", "/bilgi")


def test_a_body_shorter_than_announced_is_passing():
    cut = OK.replace(b"Length: 2", b"Length: 200")
    with raw_server(lambda c: c.sendall(cut)) as url, pytest.raises(Passing):
        Link(url).call("GET", "/bilgi")


@pytest.mark.parametrize(
    "junk",
    [b"\x00\x01\x02" * 99, b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 500, b"SSH-2.0-x\r\n",
     b"HTTP/1.1 200 OK\r\nX-Modelen-Protokol: 1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"],
)  # fmt: skip
def test_what_is_no_http_is_passing(junk):
    with raw_server(lambda c: c.sendall(junk)) as url, pytest.raises(Passing):
        Link(url).call("GET", "/bilgi")


def test_a_chunked_answer_is_read(server, link):
    def chunked(handler) -> None:
        handler.send_response(200)
        handler.send_header("X-Modelen-Protokol", "1")
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        handler.wfile.write(b"2\r\n{}\r\n0\r\n\r\n")

    server.next("GET", "/durum", chunked)
    assert link.call("GET", "/durum").body == b"{}"


def test_no_bilgi_is_no_trouble(server, link):
    server.next("GET", "/bilgi", problem(404, "yok", False), json_answer(server.about()))
    assert about(link) is None
    facts = about(link)
    assert facts is not None and facts.name == "little"
