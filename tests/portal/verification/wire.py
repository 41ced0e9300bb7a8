"""The network as a test has it: names, wires and servers of its own, and no way out."""

import errno
import socket
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

Answer = Callable[[socket.socket], None]
PUBLIC = "93.184.215.14"
HOST = "coordinator.example.org"
ADDRESS = f"https://{HOST}/c/demo"


@dataclass
class Wire:
    """Stands where the kernel connects. Public addresses lead where the test says, loopback to
    itself; a dial to anywhere else fails the test, even if the code under test hides it."""

    routes: dict[tuple[str, int], tuple[str, int] | OSError] = field(default_factory=dict)
    dialled: list[tuple[str, int]] = field(default_factory=list)
    escaped: list[Any] = field(default_factory=list)

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        real = socket.socket.connect

        def connect(connection: socket.socket, address: Any) -> None:
            if connection.family == socket.AF_UNIX:
                real(connection, address)
            else:
                real(connection, self._lead(address))

        def connect_ex(connection: socket.socket, address: Any) -> int:
            connect(connection, address)
            return 0

        monkeypatch.setattr(socket.socket, "connect", connect)
        monkeypatch.setattr(socket.socket, "connect_ex", connect_ex)

    def _lead(self, address: Any) -> Any:
        host, port = address[:2]
        self.dialled.append((host, port))
        route = self.routes.get((host, port))
        if isinstance(route, OSError):
            raise route
        if route is None and host != "::1" and not host.startswith("127."):
            self.escaped.append(address)
            raise OSError(errno.ENETUNREACH, "a test dialled out")
        return route or address


@dataclass
class Names:
    """A resolver with the test's own names and no others; ``asked`` lists the look-ups.

    A name has one list of answers per look-up; the last one stays.
    """

    answers: dict[str, list[list[str]]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(socket, "getaddrinfo", self._getaddrinfo)

    def _getaddrinfo(self, host: str, port: Any, *args: Any, **kwargs: Any) -> list[Any]:
        self.asked.append(host)
        if host not in self.answers:
            raise socket.gaierror(socket.EAI_NONAME, "no such name in this test")
        rows = self.answers[host]
        answer = rows.pop(0) if len(rows) > 1 else rows[0]
        return [_row(address) for address in answer]


def _row(address: str) -> tuple[Any, ...]:
    if ":" in address:
        return (socket.AF_INET6, socket.SOCK_STREAM, 6, "", (address, 0, 0, 0))
    return (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 0))


class Server:
    """A real server on loopback, by TLS if given a context, that answers as it is told.

    ``heads`` are the requests it got. A client that leaves in the middle is no error.
    """

    def __init__(self, answer: Answer, context: ssl.SSLContext | None = None) -> None:
        self.answer = answer
        self.heads: list[bytes] = []
        self._context = context
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address: tuple[str, int] = self._listener.getsockname()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        # Closing alone would leave the thread in accept.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        connection.settimeout(10)
        try:
            with self._context.wrap_socket(connection, True) if self._context else connection as c:
                self.heads.append(_head(c))
                self.answer(c)
        except OSError:
            connection.close()


def _head(connection: socket.socket) -> bytes:
    head = b""
    while b"\r\n\r\n" not in head:
        data = connection.recv(4096)
        if not data:
            raise ConnectionResetError
        head += data
    return head


def page(body: bytes, status: str = "200 OK", **headers: str) -> Answer:
    """Answer with a whole response; header names have _ for -."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    head = "\r\n".join(lines).encode() + b"\r\n\r\n"
    return lambda connection: connection.sendall(head + body)


def redirect(*locations: str) -> Answer:
    """Answer the first request with a redirect to the first location, and so on; then the last."""
    left = list(locations)

    def answer(connection: socket.socket) -> None:
        page(b"", "302 Found", Location=left.pop(0) if len(left) > 1 else left[0])(connection)

    return answer


def repeated(start: bytes, piece: bytes, pause_s: float = 0.0) -> Answer:
    """Send ``start``, then ``piece`` until the client leaves."""
    never = threading.Event()

    def answer(connection: socket.socket) -> None:
        connection.sendall(start)
        while True:
            connection.sendall(piece)
            never.wait(pause_s)

    return answer
