"""Fuzz target: a real server, fed bytes that are HTTP in most ways."""

import random
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.e2e.site import Site
from tests.fuzzing import messages, wires
from tests.fuzzing.running import Wrong

PATIENCE_S = 20.0
# For a whole request on an idle machine it is plenty.
MOMENT_S = 0.4
LINES = (
    "Content-Length: -1",
    "Content-Length: 99999999999",
    "Content-Length: 5\r\nContent-Length: 6",
    "Transfer-Encoding: chunked",
    "Transfer-Encoding: chunked\r\nContent-Length: 5",
    "Host: ",
    "Host: a\r\nHost: b",
    "Expect: 100-continue",
    "Upgrade: websocket\r\nConnection: Upgrade",
    "X-Modelen-Protokol: 99",
    "X: " + "y" * 20_000,
    " folded",
    "no colon",
    "\x00: \x00",
)
TARGETS = (
    "gorev",
    "gorev/x/nabiz",
    "sonuc?gorev=x",
    "adaptor?tur=1",
    "kayit",
    "%00",
    "%ff",
    "a" * 9000,
)


class RawServer:
    """No answer of 5xx, and the server goes on: it is asked afterwards, on a line of its own."""

    name = "server"

    def __init__(self, site: Site) -> None:
        self.site = site

    def play(self, draw: random.Random) -> str:
        answer = self._send(request(draw), MOMENT_S)
        status = answer.split(b" ", 2)[1:2]
        if status and status[0].startswith(b"5"):
            raise Wrong(f"{answer[:200]!r}")
        if draw.random() < 0.05 and b" 200 " not in self._send(HEALTHY, PATIENCE_S)[:20]:
            raise Wrong("the server does not answer any more")
        return status[0].decode("latin-1") if status else "no answer"

    def _send(self, raw: bytes, seconds: float) -> bytes:
        """What comes back in time; a server waits for the rest of what is no whole request."""
        answer = b""
        with socket.create_connection(("127.0.0.1", self.site.port), PATIENCE_S) as line:
            line.settimeout(seconds)
            with suppress(ConnectionError, TimeoutError):
                line.sendall(raw)
                while piece := line.recv(1 << 16):
                    answer += piece
        return answer


HEALTHY = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"


def request(draw: random.Random) -> bytes:
    body = messages.mutated(wires.LEASE_REQUEST, draw)
    method = draw.choice(("GET", "POST", "PUT", "PATCH", "HEAD", "OPTIONS", "get", "", "\x00"))
    length = str(len(body)) if draw.random() < 0.8 else draw.choice(("0", "3", "99999"))
    lines = ["Host: 127.0.0.1", f"Content-Length: {length}", "Connection: close"]
    if draw.random() < 0.4:
        lines.insert(draw.randrange(4), draw.choice(LINES))
    version = "HTTP/1.1" if draw.random() < 0.9 else draw.choice(("HTTP/1.0", "HTTP/9.9", "", "X"))
    head = f"{method} /c/raw/{draw.choice(TARGETS)} {version}\r\n" + "\r\n".join(lines)
    whole = head.encode("latin-1") + b"\r\n\r\n" + body
    return messages.spoilt(whole, draw) if draw.random() < 0.1 else whole


@contextmanager
def served(folder: Path) -> Iterator[RawServer]:
    with Site(folder) as site:
        site.make_run("raw")
        site.start()
        yield RawServer(site)
