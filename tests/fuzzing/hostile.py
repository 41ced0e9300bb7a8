"""Fuzz target: the worker's client against a coordinator that answers anything at all."""

import random
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingTCPServer

from tests.e2e.volunteer import Memory, silent
from tests.fuzzing import messages, rules, wires
from tests.fuzzing.running import Wrong
from worker_client.client import coordinator
from worker_client.client.download import Download, digest_of
from worker_client.client.faults import Fault, Stopped
from worker_client.client.link import Link
from worker_client.client.patience import Backoff, Patience
from worker_client.client.upload import Parcel, Upload
from worker_client.contract import wire

# What the client's own documentation says it raises.
DEFINED = (Fault, Stopped, coordinator.RunOver, coordinator.RequestUsed)
STATUSES = (
    200,
    200,
    200,
    201,
    204,
    206,
    301,
    304,
    307,
    400,
    403,
    404,
    409,
    410,
    422,
    429,
    500,
    503,
)
HEADERS: tuple[tuple[str, str], ...] = (
    ("Retry-After", "99999999999999999999"),
    ("Retry-After", "-1"),
    ("Retry-After", "٣"),
    ("Retry-After", "Wed, 21 Oct 2015 07:28:00 GMT"),
    ("Location", "http://evil.example/"),
    ("Location", "/c/fuzz/gorev"),
    ("Location", "//["),
    ("Content-Encoding", "gzip"),
    ("Content-Length", "5"),
    ("Content-Length", "99999999"),
    ("Content-Length", "x"),
    ("Transfer-Encoding", "chunked"),
    ("Content-Range", "bytes 0-9/10"),
    ("Content-Range", "bytes 0-99999999999999/5"),
    ("Upload-Offset", "10"),
    ("Upload-Offset", "99999999999999999999999"),
    ("Upload-Offset", "²"),
    ("ETag", '"x"'),
    ("Set-Cookie", "a=b"),
    ("X" * 70_000, "y"),
)
FILE_BYTES = 70_000


class Liar(ThreadingTCPServer):
    """Answers each request with the next of ``answers``, the last one again and again."""

    allow_reuse_address = daemon_threads = True
    request_queue_size = 64

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answering)
        self.answers: list[bytes] = [b""]

    def next_answer(self) -> bytes:
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


class _Answering(StreamRequestHandler):
    server: Liar

    def handle(self) -> None:
        try:
            length = 0
            while (line := self.rfile.readline(70_000)) not in (b"\r\n", b""):
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            self.rfile.read(length)
            self.wfile.write(self.server.next_answer())
            self.connection.shutdown(socket.SHUT_WR)
        except OSError:
            return  # the client has had enough


@contextmanager
def lying() -> Iterator[Liar]:
    with Liar() as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()


class OneTry(Patience):
    """Gives up where a worker would wait."""

    def __init__(self) -> None:
        super().__init__(Backoff(Memory(), lambda low, high: 0.0), threading.Event())

    def outlast(self, fault: Fault) -> None:
        raise Stopped


class Client:
    """The client returns what the protocol allows, or raises what it says it raises."""

    name = "client"

    def __init__(self, liar: Liar, folder: Path) -> None:
        self._liar, self._folder = liar, folder
        self._base = f"http://127.0.0.1:{liar.server_address[1]}/c/fuzz"
        self._result = folder / "result"
        self._result.write_bytes(b"r" * 1000)

    def play(self, draw: random.Random) -> str:
        link = Link(self._base)
        calls: tuple[Callable[[Link, random.Random], str], ...] = (
            self._task,
            self._about,
            self._progress,
            self._fate,
            self._register,
            self._receipts,
            self._download,
            self._upload,
        )
        call = draw.choice(calls)
        try:
            return call(link, draw)
        except DEFINED as fault:
            return f"{call.__name__.strip('_')}: {type(fault).__name__}"
        finally:
            link.close()

    def _answers(self, draw: random.Random, *bodies: bytes, **headers: str) -> None:
        self._liar.answers = [answer(draw, body, headers) for body in bodies]

    def _task(self, link: Link, draw: random.Random) -> str:
        task = draw.choice([example for kind, example in wires.EXAMPLES if kind is wire.Task])
        self._answers(draw, messages.mutated(task, draw))
        request = wire.LeaseRequest(worker="ada", request_id="0" * 32)
        found = coordinator.ask(link, request)
        if isinstance(found, coordinator.NoWork):
            if not 0 <= found.wait_s <= wire.ONE_DAY_S:
                raise Wrong(f"a wait of {found.wait_s} s")
            return "no work"
        if fault := rules.fault_of_task(found.to_wire()):
            raise Wrong(f"a task was taken whose {fault}")
        return "task"

    def _about(self, link: Link, draw: random.Random) -> str:
        self._answers(draw, messages.mutated(wires.ABOUT, draw))
        return "about" if coordinator.about(link) else "no about"

    def _progress(self, link: Link, draw: random.Random) -> str:
        self._answers(draw, messages.mutated(wires.PROGRESS_ANSWER, draw))
        coordinator.tell_progress(link, "abc", wire.Progress(lease_key="f" * 64, step=1))
        return "progress"

    def _fate(self, link: Link, draw: random.Random) -> str:
        self._answers(draw, messages.mutated(wires.FATE, draw))
        coordinator.ask_fate(link, "abc", "f" * 64)
        return "fate"

    def _register(self, link: Link, draw: random.Random) -> str:
        self._answers(draw, messages.mutated({"durum": "onayli"}, draw))
        asked = wire.Registration(worker="ada", token=wire.Registration.draw_token())
        return f"registered {coordinator.register(link, asked)}"

    def _receipts(self, link: Link, draw: random.Random) -> str:
        self._answers(draw, messages.mutated(wires.RECEIPTS, draw))
        found = coordinator.receipts(link, draw.choice((None, 7)))
        if fault := rules.fault(found.to_wire(), rules.RECEIPTS):
            raise Wrong(f"receipts were taken whose {fault}")
        return "receipts"

    def _download(self, link: Link, draw: random.Random) -> str:
        """A file that comes in two ranges, either of which may be anything."""
        body = draw.randbytes(FILE_BYTES)
        path = self._folder / "whole"
        path.write_bytes(body)
        sha256 = digest_of(path)
        ref = wire.FileRef(
            path="/adaptor?tur=1", sha256=sha256, size=FILE_BYTES, chunk_bytes=65_536
        )
        self._liar.answers = [
            _range(body, first, min(first + 65_536, FILE_BYTES), draw)
            for first in range(0, FILE_BYTES, 65_536)
        ]
        for left in self._folder.glob(f"{sha256}*"):
            left.unlink()
        got = Download(link, OneTry(), self._folder, silent).fetch(ref)
        if digest_of(got) != sha256:
            raise Wrong("a file was used whose digest is another")
        return "file"

    def _upload(self, link: Link, draw: random.Random) -> str:
        sha256 = digest_of(self._result)
        parcel = Parcel("abc_DEF-1", "f" * 64, self._result, sha256, 1000)
        state = messages.mutated(wires.UPLOAD_STATE, draw)
        verdict = messages.mutated(wires.VERDICT | {"sha256": sha256}, draw)
        first = state if draw.random() < 0.7 else verdict
        self._answers(draw, first, verdict)
        found = Upload(link, OneTry(), silent).deliver(parcel)
        if not found.accepted or (found.sha256, found.lease_id) != (sha256, "abc_DEF-1"):
            raise Wrong(f"a verdict about something else was believed: {found}")
        return "verdict"


def answer(draw: random.Random, body: bytes, headers: dict[str, str]) -> bytes:
    """A whole HTTP answer with ``body``, right in most ways most of the time."""
    status = 200 if draw.random() < 0.6 else draw.choice(STATUSES)
    fields = {"X-Modelen-Protokol": "1", "Content-Length": str(len(body))} | headers
    if draw.random() < 0.25:
        fields |= dict([draw.choice(HEADERS)])
    if draw.random() < 0.05:
        del fields["X-Modelen-Protokol"]
    if status >= 400 and draw.random() < 0.7:
        body = messages.mutated(wires.PROBLEM | {"status": status}, draw)
        fields["Content-Length"] = str(len(body))
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    whole = f"HTTP/1.1 {status} X\r\n{lines}Connection: close\r\n\r\n".encode() + body
    return messages.spoilt(whole, draw) if draw.random() < 0.1 else whole


def _range(body: bytes, first: int, stop: int, draw: random.Random) -> bytes:
    piece = body[first:stop]
    if draw.random() < 0.2:
        piece = messages.spoilt(piece, draw)
    told = {"Content-Range": f"bytes {first}-{stop - 1}/{len(body)}"}
    whole = answer(draw, piece, told)
    return whole.replace(b"HTTP/1.1 200", b"HTTP/1.1 206", 1)
