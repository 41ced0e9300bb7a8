"""Ways in which a coordinator, or what stands before it, can misbehave."""

import gzip
from collections.abc import Callable

from worker_client.conformance.worker.serving import PROTOCOL, StageHandler
from worker_client.contract.errors import Refusal

Act = Callable[[StageHandler], None]
PIECE = bytes(64 * 1024)
# A reader that stops at once still leaves what lies in the buffers of both ends.
MOST_TAKEN = 16 * 2**20


def busy(seconds: int) -> Act:
    """503 that asks to wait."""
    return lambda h: h.refuse(Refusal.BUSY, {"Retry-After": str(seconds)})


def nothing(seconds: int) -> Act:
    """204 that asks to wait."""
    return lambda h: h.reply(204, headers=PROTOCOL | {"Retry-After": str(seconds)})


def refusal(what: Refusal) -> Act:
    return lambda h: h.refuse(what)


def page(h: StageHandler) -> None:
    """The page of a network that wants people to log in."""
    headers = {"Content-Type": "text/html"}
    h.reply(200, b"<html><title>Welcome</title>Log in to this network</html>", headers)


def lose_answer(h: StageHandler) -> None:
    """Do what was asked, and close the line before the answer goes out."""
    real, h.wfile = h.wfile, _Nowhere()  # type: ignore[assignment]
    h.answer()
    h.wfile = real
    h.close_connection = True


class _Nowhere:
    def write(self, data: bytes) -> int:
        return len(data)

    def flush(self) -> None:
        """There is nothing to flush."""


def encoded(h: StageHandler) -> None:
    """A body in gzip although identity was asked for."""
    status, body, headers = h.file_answer()
    h.reply(status, gzip.compress(body), headers | {"Content-Encoding": "gzip"})


def other_bytes(h: StageHandler) -> None:
    """A body of the right length with other bytes."""
    status, body, headers = h.file_answer()
    h.reply(status, bytes([body[0] ^ 255]) + body[1:], headers)


def cut(h: StageHandler) -> None:
    """Half of the body, and then the line closes."""
    status, body, headers = h.file_answer()
    h.reply(status, body[: len(body) // 2], headers | {"Content-Length": str(len(body))})
    h.close_connection = True


def redirect(status: int, url: str) -> Act:
    return lambda h: h.reply(status, headers=PROTOCOL | {"Location": url})


def endless(taken: list[int]) -> Act:
    """A body that never ends, while somebody reads; ``taken`` gets how many bytes went out."""

    def act(h: StageHandler) -> None:
        taken.append(0)
        h.send_response(206 if h.headers.get("Range") else 200)
        for name, value in PROTOCOL.items():
            h.send_header(name, value)
        h.end_headers()
        h.close_connection = True
        while taken[-1] <= MOST_TAKEN:
            h.wfile.write(PIECE)
            taken[-1] += len(PIECE)

    return act
