"""What the client reads, and how it ends whatever the other side does."""

import gzip
import socket
import ssl
import threading
from datetime import UTC, datetime

import pytest
import trustme

from portal.verification import fetch as module
from portal.verification.address import parse
from portal.verification.codes import Code
from portal.verification.fetch import Fetched, fetch
from tests.portal.verification.conftest import Serve, tls
from tests.portal.verification.wire import (
    ADDRESS,
    HOST,
    PUBLIC,
    Names,
    Wire,
    page,
    redirect,
    repeated,
)

PATH = "/.well-known/modelen-verification.txt"
OK_HEAD = b"HTTP/1.1 200 OK\r\n"


def get(address: str = ADDRESS) -> Fetched:
    return fetch(parse(address)[0], PATH)


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """A deadline that a test can wait for."""
    monkeypatch.setattr(module, "TOTAL_S", 0.4)


def test_reads_a_file_and_keeps_the_evidence(serve: Serve, wire: Wire, names: Names) -> None:
    serve(page(b"hello\n"))
    fetched = get()
    assert (fetched.code, fetched.body) == (Code.OK, b"hello\n")
    assert fetched.evidence() == [
        {"url": f"https://{HOST}{PATH}", "addresses": [PUBLIC], "used": PUBLIC, "status": 200}
    ]
    assert wire.dialled == [(PUBLIC, 443)] and names.asked == [HOST]


def test_asks_plainly_and_by_name(serve: Serve, trusted: trustme.CA) -> None:
    seen: list[str | None] = []
    context = tls(trusted, HOST)
    context.sni_callback = lambda sock, name, context: seen.append(name)
    server = serve(page(b"x"), context)
    get()
    request, *headers = server.heads[0].decode().split("\r\n")[:-2]
    assert request == f"GET {PATH} HTTP/1.1"
    assert dict(header.split(": ", 1) for header in headers) == {
        "Host": HOST,
        "User-Agent": "modelen-verification/1 (+https://localhost/)",
        "Accept": "*/*",
        "Accept-Encoding": "identity",
        "Connection": "close",
    }
    assert seen == [HOST]


def test_uses_no_proxy_of_the_environment(
    serve: Serve, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "https_proxy", "ALL_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    serve(page(b"x"))
    assert get().code == Code.OK
    assert wire.dialled == [(PUBLIC, 443)]


def test_takes_the_next_address_when_one_is_silent(serve: Serve, wire: Wire, names: Names) -> None:
    serve(page(b"x"))
    names.answers[HOST] = [["2606:4700::1111", "93.184.215.99", PUBLIC]]
    wire.routes["2606:4700::1111", 443] = OSError(101, "no IPv6 here")
    wire.routes["93.184.215.99", 443] = TimeoutError()
    fetched = get()
    assert (fetched.code, fetched.hops[0].used) == (Code.OK, PUBLIC)


@pytest.mark.parametrize(
    ("failure", "code"),
    [
        (TimeoutError(), Code.CONNECT_TIMEOUT),
        (ConnectionRefusedError(), Code.CONNECT_REFUSED),
        (OSError(113, "no route"), Code.CONNECT_FAILED),
    ],
)
def test_no_connection(wire: Wire, names: Names, failure: OSError, code: Code) -> None:
    wire.routes[PUBLIC, 443] = failure
    assert get().code == code


def test_unknown_name(names: Names) -> None:
    assert get("https://nobody.example.org").code == Code.DNS_NOT_FOUND


def test_name_servers_that_are_away(names: Names, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*args: object, **kwargs: object) -> None:
        raise socket.gaierror(socket.EAI_AGAIN, "try again")

    monkeypatch.setattr(socket, "getaddrinfo", away)
    assert get().code == Code.DNS_TIMEOUT


def test_a_look_up_that_never_ends(
    short: None, monkeypatch: pytest.MonkeyPatch, names: Names
) -> None:
    over = threading.Event()

    def late(*args: object, **kwargs: object) -> list[object]:
        over.wait()
        return []

    monkeypatch.setattr(socket, "getaddrinfo", late)
    assert get().code == Code.DNS_TIMEOUT
    over.set()


@pytest.mark.parametrize(
    ("status", "code"),
    [
        ("404 Not Found", Code.NOT_FOUND),
        ("410 Gone", Code.NOT_FOUND),
        ("403 Forbidden", Code.HTTP_STATUS),
        ("500 Oh", Code.HTTP_STATUS),
        ("204 No Content", Code.HTTP_STATUS),
        ("206 Partial Content", Code.HTTP_STATUS),
    ],
)
def test_only_200_counts(serve: Serve, status: str, code: Code) -> None:
    serve(page(b"hello", status))
    fetched = get()
    assert (fetched.code, fetched.body) == (code, None)
    assert fetched.hops[0].status == int(status.split()[0])


def test_three_redirects_on_the_host_are_followed(serve: Serve, wire: Wire, names: Names) -> None:
    at_other_port = serve(page(b"there"), port=8443)
    serve(redirect("/a", f"https://{HOST.upper()}/b?c=d", f"https://{HOST}:8443/e#f"))
    fetched = get()
    assert (fetched.code, fetched.body) == (Code.OK, b"there")
    assert [hop.url for hop in fetched.hops] == [
        f"https://{HOST}{PATH}",
        f"https://{HOST}/a",
        f"https://{HOST}/b?c=d",
        f"https://{HOST}:8443/e",
    ]
    assert f"Host: {HOST}:8443".encode() in at_other_port.heads[0]
    assert names.asked == [HOST], "the host's addresses are looked up once for all hops"


def test_a_fourth_redirect_is_not_followed(serve: Serve, wire: Wire) -> None:
    serve(redirect("/again"))
    fetched = get()
    assert fetched.code == Code.REDIRECT_LOOP
    assert len(wire.dialled) == len(fetched.hops) == 4


def test_exactly_16_kib_is_read_and_no_more(serve: Serve) -> None:
    server = serve(page(b"x" * 16384))
    assert get().code == Code.OK
    server.answer = page(b"x" * 16385)
    fetched = get()
    assert (fetched.code, fetched.body) == (Code.TOO_LARGE, None)


@pytest.mark.parametrize(
    ("head", "piece", "code"),
    [
        (OK_HEAD + b"\r\n", b"x" * 4096, Code.TOO_LARGE),
        (OK_HEAD + b"Content-Length: 99999999999\r\n\r\n", b"x" * 4096, Code.TOO_LARGE),
        (OK_HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n" * 999, Code.TOO_LARGE),
        (OK_HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"0" * 4096, Code.BROKEN_RESPONSE),
        (OK_HEAD + b"Transfer-Encoding: chunked\r\n\r\n-8\r\n", b"x" * 4096, Code.BROKEN_RESPONSE),
        (OK_HEAD, b"A: b\r\n", Code.BROKEN_RESPONSE),
        (OK_HEAD, b"A" * 4096, Code.BROKEN_RESPONSE),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 99, Code.TOO_LARGE),
        (b"", b"A" * 4096, Code.BROKEN_RESPONSE),
    ],
    ids="body declared chunks chunk-head negative-chunk heads head 100s junk".split(),
)
def test_what_has_no_end_is_cut(serve: Serve, head: bytes, piece: bytes, code: Code) -> None:
    serve(repeated(head, piece))
    fetched = get()
    assert (fetched.code, fetched.body) == (code, None)


@pytest.mark.parametrize(
    ("head", "piece"),
    [
        (OK_HEAD + b"Content-Length: 9999\r\n\r\n", b"x"),
        (OK_HEAD + b"X-Slow: ", b"x"),
        (b"", b""),
        (OK_HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
    ],
    ids=["body", "head", "nothing", "chunks"],
)
def test_a_drip_ends_at_the_deadline(serve: Serve, short: None, head: bytes, piece: bytes) -> None:
    serve(repeated(head, piece, pause_s=0.05))
    fetched = get()
    assert (fetched.code, fetched.body) == (Code.SLOW_RESPONSE, None)


def test_the_deadline_is_one_for_all_hops(serve: Serve, short: None) -> None:
    def late(connection: socket.socket) -> None:
        threading.Event().wait(0.25)
        redirect("/again")(connection)

    serve(late)
    fetched = get()
    assert fetched.code == Code.SLOW_RESPONSE and len(fetched.hops) == 2


def test_a_handshake_that_hangs(short: None, wire: Wire, names: Names) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        wire.routes[PUBLIC, 443] = silent.getsockname()
        assert get().code == Code.SLOW_RESPONSE


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "identity, gzip"])
def test_a_compressed_answer_is_never_unpacked(serve: Serve, encoding: str) -> None:
    bomb = gzip.compress(b"0" * 10**6)
    serve(page(bomb, Content_Encoding=encoding))
    fetched = get()
    assert (fetched.code, fetched.body) == (Code.COMPRESSED, None)


@pytest.mark.parametrize(
    "answer",
    [b"hello\r\n\r\n", b"HTTP/1.1 abc OK\r\n\r\n", b"SSH-2.0-OpenSSH\r\n", b""],
)
def test_what_is_no_http(serve: Serve, answer: bytes) -> None:
    serve(lambda connection: connection.sendall(answer))
    assert get().code == Code.BROKEN_RESPONSE


# --- TLS -----------------------------------------------------------------------------------------


def test_certificate_of_another_name(serve: Serve, trusted: trustme.CA) -> None:
    server = serve(page(b"x"), tls(trusted, "other.example.org"))
    assert get().code == Code.TLS_NAME_MISMATCH
    assert server.heads == []


def test_certificate_of_the_address_is_not_one_of_the_name(
    serve: Serve, trusted: trustme.CA
) -> None:
    serve(page(b"x"), tls(trusted, PUBLIC))
    assert get().code == Code.TLS_NAME_MISMATCH


def test_certificate_of_an_authority_that_nobody_trusts(serve: Serve) -> None:
    server = serve(page(b"x"), tls(trustme.CA(), HOST))
    assert get().code == Code.TLS_INVALID
    assert server.heads == []


def test_certificate_that_has_expired(serve: Serve, trusted: trustme.CA) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trusted.issue_cert(HOST, not_after=datetime(2020, 1, 1, tzinfo=UTC)).configure_cert(context)
    serve(page(b"x"), context)
    assert get().code == Code.TLS_INVALID


def test_plain_http_on_the_tls_port(wire: Wire, names: Names) -> None:
    def speak(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as plain:
        threading.Thread(target=speak, args=(plain,), daemon=True).start()
        wire.routes[PUBLIC, 443] = plain.getsockname()
        assert get().code == Code.TLS_INVALID
