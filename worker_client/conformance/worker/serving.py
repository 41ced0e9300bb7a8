"""The stage's HTTP server, and the place elsewhere to which nobody may be lured."""

import base64
import json
import re
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from worker_client.conformance.worker.stage import BASE, CHUNK, Heard, Stage, StageLease, sha256
from worker_client.contract import LEASE_KEY_HEADER, PROTOCOL_HEADER, UPLOAD_OFFSET_HEADER
from worker_client.contract.errors import Refusal

PROTOCOL = {PROTOCOL_HEADER: "1"}
LONGEST_BODY = 2**30


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A worker that ends resets its lines, which is nobody's mistake."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


@contextmanager
def serving(stage: Stage) -> Iterator[Stage]:
    """Serve the stage on a free port of this computer while entered."""
    with ExitStack() as stack:
        stage.port = stack.enter_context(_server(StageHandler, {"stage": stage}))
        yield stage


@contextmanager
def elsewhere() -> Iterator[tuple[int, list[str]]]:
    """Another port, and the requests that came to it."""
    heard: list[str] = []
    with _server(ElsewhereHandler, {"heard": heard}) as port:
        yield port, heard


@contextmanager
def _server(kind: type[BaseHTTPRequestHandler], fields: dict[str, Any]) -> Iterator[int]:
    with Server(("127.0.0.1", 0), type("Bound", (kind,), fields)) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


class Quiet(BaseHTTPRequestHandler):
    protocol_version, timeout = "HTTP/1.1", 60

    def log_message(self, *args: object) -> None:
        """What was heard says more."""

    def reply(self, status: int, body: bytes = b"", headers: Mapping[str, str] = PROTOCOL) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if status not in (204, 304) and "Content-Length" not in headers:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


class ElsewhereHandler(Quiet):
    heard: list[str]

    def handle_any(self) -> None:
        self.heard.append(f"{self.command} {self.path}")
        self.reply(200, b"{}")

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = handle_any


class StageHandler(Quiet):
    stage: Stage

    def handle_any(self) -> None:
        length = self.headers.get("Content-Length", "0")
        size = int(length) if length.isdecimal() else 0
        body = self.rfile.read(min(size, LONGEST_BODY))
        path = self.path.removeprefix(BASE)
        heard = Heard(self.command, path, dict(self.headers), body, time.monotonic())
        with self.stage.lock:
            if path == self.path:
                self.stage.problems.append(f"{self.command} {self.path} is outside {BASE}")
            fault = self.stage.note(heard)
        self.heard = heard
        try:
            if fault:
                fault.act(self)
                fault.answered = time.monotonic()
            else:
                self.answer()
        except OSError:
            self.close_connection = True

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any

    # Answers

    def json(self, status: int, body: dict[str, Any], **headers: str) -> None:
        kind = "application/problem+json" if status >= 400 else "application/json"
        self.reply(status, json.dumps(body).encode(), PROTOCOL | {"Content-Type": kind} | headers)

    def refuse(
        self, refusal: Refusal, headers: Mapping[str, str] | None = None, **more: Any
    ) -> None:
        body = {"type": "about:blank", "title": refusal.title, "status": refusal.status}
        body |= {"detail": f"the stage says {refusal.code}", "kod": refusal.code}
        body |= {"tekrar": refusal.retry} | more
        self.json(refusal.status, body, **dict(headers or {}))

    def answer(self) -> None:
        """As a coordinator should."""
        with self.stage.lock:
            place = self.heard.place
            match self.command, place:
                case "GET", "/bilgi" if self.stage.with_about:
                    self.json(200, self.stage.about())
                case "GET", "/durum":
                    self.json(200, self.stage.status())
                case "POST", "/gorev":
                    self.lease()
                case "POST", "/kayit" if self.stage.registers:
                    self.stage.registrations.append(self.body_json())
                    self.json(201, {"durum": "onayli"})
                case "GET" | "HEAD", _ if place in self.stage.files:
                    self.reply(*self.file_answer())
                case "POST", _ if place.endswith("/nabiz"):
                    self.beat(place.split("/")[2])
                case _, "/sonuc":
                    self.deliver()
                case _:
                    self.refuse(Refusal.NOT_FOUND)

    def body_json(self) -> dict[str, Any]:
        try:
            value = json.loads(self.heard.body)
        except ValueError:
            value = None
        if not isinstance(value, dict):
            self.stage.problems.append(f"{self.command} {self.heard.path} sent no JSON object")
            return {}
        return value

    def lease(self) -> None:
        stage, asked = self.stage, self.body_json()
        request_id = str(asked.get("istek", ""))
        known = [lease for lease in stage.leases if lease.request_id == request_id]
        if known and known[0].ended:
            return self.refuse(Refusal.REQUEST_USED)
        if stage.round > stage.rounds and not known:
            stage.over_told.append(time.monotonic())
            return self.refuse(Refusal.FINISHED)
        self.json(200, stage.task(stage.lease(request_id, asked)), **{"Cache-Control": "no-store"})

    def file_answer(self) -> tuple[int, bytes, dict[str, str]]:
        """Status, body and headers for the file that was asked for."""
        data = self.stage.files[self.heard.place]
        etag = f'"{sha256(data)}"'
        headers = PROTOCOL | {"ETag": etag, "Accept-Ranges": "bytes"}
        span = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if not span or self.headers.get("If-Range", etag) != etag or int(span[1]) >= len(data):
            return 200, data, headers
        first, last = int(span[1]), min(int(span[2] or len(data)), len(data) - 1)
        headers["Content-Range"] = f"bytes {first}-{last}/{len(data)}"
        return 206, data[first : last + 1], headers

    def beat(self, lease_id: str) -> None:
        told, lease = self.body_json(), self.find(lease_id)
        if lease is None:
            return self.refuse(Refusal.LEASE_UNKNOWN)
        if told.get("anahtar") != lease.key:
            self.stage.problems.append("a nabiz with a wrong anahtar")
            return self.refuse(Refusal.LEASE_KEY_INVALID)
        if "ozet" in told:
            lease.commitments.append(str(told["ozet"]))
        if lease.number in self.stage.unwanted or lease.ended:
            return self.json(200, {"devam": False})
        self.json(200, {"devam": True, "sure": 600, "yeni_alan": 1})

    def find(self, lease_id: str) -> StageLease | None:
        return next((lease for lease in self.stage.leases if lease.id == lease_id), None)

    # Delivering

    def deliver(self) -> None:
        lease = self.find(parse_qs(urlsplit(self.heard.path).query).get("gorev", [""])[0])
        if lease is None:
            return self.refuse(Refusal.LEASE_UNKNOWN)
        if self.headers.get(LEASE_KEY_HEADER) != lease.key:
            self.stage.problems.append(f"{self.command} /sonuc without the lease's key")
            return self.refuse(Refusal.LEASE_KEY_INVALID)
        if self.command == "GET":
            return self.json(200, self.stage.fate(lease))
        if self.command == "POST":
            return self.whole(lease)
        if lease.number in self.stage.whole:
            return self.refuse(Refusal.METHOD_NOT_ALLOWED, {"Allow": "GET, POST"})
        {"PUT": self.announce, "PATCH": self.chunk, "HEAD": self.offset}[self.command](lease)

    def whole(self, lease: StageLease) -> None:
        digest = base64.b64encode(bytes.fromhex(sha256(self.heard.body))).decode()
        if self.headers.get("Content-Digest") != f"sha-256=:{digest}:":
            self.stage.problems.append("POST /sonuc without the right Content-Digest")
            return self.refuse(Refusal.DIGEST_MISMATCH)
        self.judge(lease, self.heard.body)

    def announce(self, lease: StageLease) -> None:
        values, new = self.body_json(), False
        if lease.announced != values:
            lease.announced, lease.received, new = values, bytearray(), True
        if len(lease.received) == values.get("boyut"):
            return self.judge(lease, bytes(lease.received))
        state = {"ofset": len(lease.received), "parca_boyut": CHUNK}
        self.json(201 if new else 200, state)

    def chunk(self, lease: StageLease) -> None:
        if lease.announced is None:
            return self.refuse(Refusal.NOT_ANNOUNCED)
        if len(self.heard.body) > CHUNK:
            self.stage.problems.append(f"a chunk of {len(self.heard.body)} bytes")
        if self.headers.get(UPLOAD_OFFSET_HEADER) != str(len(lease.received)):
            return self.refuse(Refusal.OFFSET_MISMATCH, ofset=len(lease.received))
        lease.received += self.heard.body
        if len(lease.received) == lease.announced.get("boyut"):
            return self.judge(lease, bytes(lease.received))
        self.offset(lease)

    def offset(self, lease: StageLease) -> None:
        if lease.announced is None:
            return self.refuse(Refusal.NOT_ANNOUNCED)
        self.reply(204, headers=PROTOCOL | {UPLOAD_OFFSET_HEADER: str(len(lease.received))})

    def judge(self, lease: StageLease, data: bytes) -> None:
        if lease.announced and sha256(data) != lease.announced.get("sha256"):
            lease.announced = None
            return self.refuse(Refusal.DIGEST_MISMATCH)
        if lease.number in self.stage.refused:
            lease.ended = True
            lease.results = lease.results or [data]
            return self.refuse(Refusal.NOT_FINITE)
        self.stage.accept(lease, data)
        verdict = {"kabul": True, "gorev": lease.id, "tur": lease.round, "sha256": sha256(data)}
        self.json(200, verdict | {"yeni_alan": "suite"})
