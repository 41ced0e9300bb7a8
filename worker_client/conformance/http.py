"""Plain requests to a coordinator, and everything it answered kept for later checks."""

import http.client
import json
import socket
import ssl
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http.cookiejar import DefaultCookiePolicy
from typing import Any
from urllib.parse import urlsplit

import requests
from requests.adapters import HTTPAdapter

from worker_client.conformance.check import Failed, demand
from worker_client.contract import MAX_JSON_BYTES, PROTOCOL_HEADER
from worker_client.contract.errors import Refusal
from worker_client.contract.wire import MAX_SNAPSHOT_BYTES

USER_AGENT = "modelen-conformance/1"
TIMEOUT_S = 60.0
MAX_WAITS, LONGEST_WAIT_S = 5, 10.0
# How long a server may take to refuse a body by its headers before the body is sent after all.
EARLY_S = 2.0
BUSY = (429, 503)


@dataclass(frozen=True)
class Reply:
    """An answer with its body; ``asked`` names the request for messages."""

    asked: str
    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)

    @property
    def json(self) -> dict[str, Any]:
        """Raises Failed unless the body is a JSON object."""
        try:
            value = json.loads(self.body.decode("utf-8"))
        except ValueError:
            raise Failed(f"{self} has a body that is no JSON: {self.body[:80]!r}") from None
        demand(isinstance(value, dict), f"{self} has a body that is no JSON object")
        return value

    @property
    def kod(self) -> str:
        """The problem's code, or empty."""
        try:
            return str(json.loads(self.body).get("kod", ""))
        except (ValueError, AttributeError):
            return ""

    def __str__(self) -> str:
        return f"{self.asked} -> {self.status}{' ' + self.kod if self.kod else ''}"


class _From(HTTPAdapter):
    """Connects from one of this computer's addresses."""

    def __init__(self, address: str) -> None:
        self._address = address
        super().__init__()

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, source_address=(self._address, 0), **kwargs)


def _new_session(source: str | None) -> requests.Session:
    session = requests.Session()
    session.auth = lambda request: request  # not what lies in a .netrc
    session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
    session.headers.clear()
    if source:
        session.mount("http://", _From(source))
        session.mount("https://", _From(source))
    return session


class Speaker:
    """Requests below one base URL."""

    def __init__(self, base_url: str) -> None:
        self.base_url = base_url.rstrip("/")
        self.journal: list[Reply] = []

    def headers(self, more: Mapping[str, str | None]) -> dict[str, str]:
        """What every request carries, with ``more`` over it; None leaves one out."""
        usual = {
            "User-Agent": USER_AGENT,
            PROTOCOL_HEADER: "1",
            "Accept-Encoding": "identity",
            "Connection": "close",
        }
        return {name: value for name, value in (usual | dict(more)).items() if value is not None}

    def send(
        self,
        method: str,
        path: str,
        *,
        json: object = None,
        data: bytes | None = None,
        headers: Mapping[str, str | None] | None = None,
        token: str | None = None,
        source: str | None = None,
        limit: int = MAX_JSON_BYTES,
    ) -> Reply:
        """The answer, of at most ``limit`` bytes, to whoever has ``token`` and speaks from the
        address ``source``. A busy coordinator is asked again.

        Raises:
            Failed: no answer, or a longer one.
        """
        own: dict[str, str | None] = {"Authorization": f"Bearer {token}" if token else None}
        if json is not None:
            data = _encode(json)
            own["Content-Type"] = "application/json"
        if data is None and method in ("POST", "PUT", "PATCH"):
            data = b""
        sent = self.headers(own | dict(headers or {}))
        for _ in range(MAX_WAITS):
            reply = self._once(method, path, data, sent, source, limit)
            self.journal.append(reply)
            if reply.status not in BUSY:
                break
            wait = reply.headers.get("Retry-After", "")
            time.sleep(min(LONGEST_WAIT_S, float(wait) if wait.isdecimal() else 1.0))
        return reply

    def _once(
        self,
        method: str,
        path: str,
        data: bytes | None,
        headers: dict[str, str],
        source: str | None,
        limit: int,
    ) -> Reply:
        asked = f"{method} {path[:120]}"
        # One line for each request: a kept one may be closed just as it is used again.
        session = _new_session(source)
        try:
            with session.request(
                method,
                self.base_url + path,
                data=data,
                headers=headers,
                stream=True,
                allow_redirects=False,
                timeout=TIMEOUT_S,
            ) as answer:
                body = answer.raw.read(limit + 1, decode_content=False)
                demand(len(body) <= limit, f"{asked} was answered with more than {limit} bytes")
                return Reply(asked, answer.status_code, answer.headers, body)
        except (requests.RequestException, OSError, http.client.HTTPException) as error:
            raise Failed(f"{asked} got no answer: {error}") from None
        finally:
            session.close()

    def fetch(self, path: str, headers: Mapping[str, str | None] | None = None) -> Reply:
        """``GET`` for a file."""
        return self.send("GET", path, headers=headers, limit=MAX_SNAPSHOT_BYTES)

    def raw(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str | None],
        body: Sequence[bytes] = (),
        *,
        cut: bool = False,
    ) -> Reply | None:
        """A request written byte by byte: headers, a moment for an early answer, then ``body``.

        ``cut`` ends the sending side after it. None when the line closed without an answer.
        """
        parts = urlsplit(self.base_url)
        lines = [f"{method} {parts.path}{path} HTTP/1.1", f"Host: {parts.netloc}"]
        lines += [f"{name}: {value}" for name, value in self.headers(headers).items()]
        try:
            with _connect(parts.scheme, parts.hostname or "", parts.port) as line:
                line.sendall("\r\n".join([*lines, "", ""]).encode())
                answered = _readable(line, EARLY_S) if body else False
                if not answered:
                    _send_all(line, body, cut)
                return self._read(line, f"{method} {path[:120]}")
        except (OSError, http.client.HTTPException):
            return None

    def _read(self, line: socket.socket, asked: str) -> Reply:
        line.settimeout(TIMEOUT_S)
        answer = http.client.HTTPResponse(line)
        answer.begin()
        with answer:
            body = answer.read(MAX_JSON_BYTES)
            headers = requests.structures.CaseInsensitiveDict(answer.getheaders())
            reply = Reply(asked, answer.status, headers, body)
        self.journal.append(reply)
        return reply


def _encode(value: object) -> bytes:
    return value if isinstance(value, bytes) else json.dumps(value).encode()


def _connect(scheme: str, host: str, port: int | None) -> socket.socket:
    line = socket.create_connection((host, port or (443 if scheme == "https" else 80)), TIMEOUT_S)
    if scheme != "https":
        return line
    return ssl.create_default_context().wrap_socket(line, server_hostname=host)


def _readable(line: socket.socket, seconds: float) -> bool:
    """Whether something came within ``seconds``."""
    if isinstance(line, ssl.SSLSocket):
        return False
    line.settimeout(seconds)
    try:
        return bool(line.recv(1, socket.MSG_PEEK))
    except TimeoutError:
        return False


def _send_all(line: socket.socket, body: Sequence[bytes], cut: bool) -> None:
    line.settimeout(TIMEOUT_S)
    try:
        for part in body:
            line.sendall(part)
        if cut:
            line.shutdown(socket.SHUT_WR)
    except (BrokenPipeError, ConnectionResetError):
        return  # it answered before it had all


def expect(reply: Reply, refusal: Refusal) -> Reply:
    """Raises Failed unless ``reply`` is this refusal, with its status and ``tekrar``."""
    wanted = f"{refusal.status} {refusal.code}"
    demand((reply.status, reply.kod) == (refusal.status, refusal.code), f"{reply}, not {wanted}")
    told = reply.json.get("tekrar")
    demand(told is refusal.retry, f"{reply} has tekrar {told!r}, not {refusal.retry}")
    return reply


def expect_status(reply: Reply, *statuses: int) -> Reply:
    """Raises Failed unless ``reply`` has one of ``statuses``."""
    wanted = " or ".join(map(str, statuses))
    demand(reply.status in statuses, f"{reply}, not {wanted}")
    return reply
