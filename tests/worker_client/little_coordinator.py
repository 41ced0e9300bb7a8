"""A small coordinator over real HTTP on loopback, strict by default and hostile on request.

It implements protocol v1 as far as one worker needs it, checks what every request must
carry, and can be told to answer the next matching requests otherwise::

    server.next("GET", "/adaptor", answer(500), answer(503, headers={"Retry-After": "1"}))
"""

import base64
import hashlib
import json
import re
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np

from worker_client.contract.formats import load_adapter_format
from worker_client.contract.recipe import IGNORED_LABEL
from worker_client.contract.tensors import build_header

BASE = "/c/little"
PROTOCOL = {"X-Modelen-Protokol": "1"}
CHUNK = 64 * 1024

Hostile = Callable[["Handler"], None]


def make_snapshot(format_id: str = "tiny-qwen3-lora-r4") -> bytes:
    """A valid snapshot: A random, B zero."""
    fmt, draw = load_adapter_format(format_id), np.random.default_rng(0)
    arrays = [
        draw.normal(0, 0.1, s.shape) if ".lora_A." in s.name else np.zeros(s.shape)
        for s in fmt.tensors
    ]
    header = build_header([(s.name, "F32", s.shape) for s in fmt.tensors], {"format": "pt"})
    return header + b"".join(a.astype("<f4").tobytes() for a in arrays)


def make_shard(rows: int = 40, seq: int = 16, highest: int = 255, *, labels: bool = False) -> bytes:
    """A valid shard of random tokens for the tiny model; with labels, of the second halves, one
    for sft."""
    base = load_adapter_format("tiny-qwen3-lora-r4").base_model
    ids = np.random.default_rng(1).integers(0, highest + 1, (rows, seq)).astype("<i4")
    targets = str(rows * (seq - 1))  # a token of the tiny tokenizer is a byte
    metadata = {"belirtec_sha256": base.tokenizer_sha256, "token": targets, "bayt": targets}
    if labels:
        answers = ids.copy()
        answers[:, : seq // 2] = IGNORED_LABEL
        metadata["token"] = metadata["bayt"] = str(rows * (seq - seq // 2))
        shapes = [(name, "I32", (rows, seq)) for name in ("input_ids", "labels")]
        return build_header(shapes, metadata) + ids.tobytes() + answers.tobytes()
    return build_header([("input_ids", "I32", (rows, seq))], metadata) + ids.tobytes()


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@dataclass
class Seen:
    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> dict[str, Any]:
        return json.loads(self.body)


@dataclass
class Lease:
    lease_id: str
    request_id: str
    round: int
    announced: dict[str, Any] | None = None
    received: bytearray = field(default_factory=bytearray)
    result: bytes | None = None


@dataclass
class LittleCoordinator:
    """One run of ``rounds`` rounds, one task a round; a result ends its round."""

    rounds: int = 1
    inner_steps: int = 2
    snapshot: bytes = field(default_factory=make_snapshot)
    shard: bytes = field(default_factory=make_shard)
    more_files: dict[str, bytes] = field(default_factory=dict)
    task_changes: dict[str, Any] = field(default_factory=dict)
    about_changes: dict[str, Any] = field(default_factory=dict)
    resumable: bool = True
    keeps_names: bool = True
    standing: str = "onayli"
    go_on: bool = True
    lease_seconds: int = 600
    port: int = 0
    round: int = 1
    leases: dict[str, Lease] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    seen: list[Seen] = field(default_factory=list)
    fates: dict[str, str] = field(default_factory=dict)
    overrides: dict[tuple[str, str], deque[Hostile]] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}{BASE}"

    @property
    def results(self) -> list[bytes]:
        return [lease.result for lease in self.leases.values() if lease.result is not None]

    def next(self, method: str, path: str, *answers: Hostile) -> None:
        """Answer the next requests whose path begins so with these, one each."""
        self.overrides.setdefault((method, path), deque()).extend(answers)

    def requests(self, method: str, path: str) -> list[Seen]:
        return [s for s in self.seen if s.method == method and s.path.startswith(path)]

    def file(self, path: str) -> bytes:
        return ({"/adaptor": self.snapshot, "/veri": self.shard} | self.more_files)[path]

    def about(self) -> dict[str, Any]:
        fmt = load_adapter_format("tiny-qwen3-lora-r4")
        return {
            "protokol": 1, "ad": "little", "bicim": fmt.id, "taban_model": fmt.base_model.ref,
            "belirtec_sha256": fmt.base_model.tokenizer_sha256, "mod": "cpt", "tur": self.round,
            "tur_sayisi": self.rounds, "ic_adim": self.inner_steps, "seq": 16, "n_parca": 1,
            "veri": True,
        } | self.about_changes  # fmt: skip

    def task(self, lease: Lease) -> dict[str, Any]:
        fmt = load_adapter_format("tiny-qwen3-lora-r4")
        son = datetime.now(UTC) + timedelta(seconds=self.lease_seconds)
        return {
            "gorev": lease.lease_id, "anahtar": "k" * 32, "is": "egit", "tur": lease.round,
            "tur_sayisi": self.rounds, "ic_adim": self.inner_steps, "bs": 2, "seq": 16,
            "lr": 0.001, "tohum": 7, "parca": 0, "n_parca": 1, "mod": "cpt", "bicim": fmt.id,
            "recete": "v1", "taban_model": fmt.base_model.ref, "kodlama": "ham",
            "sure": self.lease_seconds, "son": son.isoformat(),
            "adaptor": self.file_ref("/adaptor"), "veri": self.file_ref("/veri"),
        } | self.task_changes  # fmt: skip

    def file_ref(self, path: str) -> dict[str, Any]:
        data = self.file(path)
        return {"yol": path, "sha256": sha256(data), "boyut": len(data), "parca_boyut": CHUNK}


@contextmanager
def serving(coordinator: LittleCoordinator) -> Iterator[LittleCoordinator]:
    """Serve it from a thread; its port stays the same when it is served again."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        allow_reuse_address = True

    handler = type("BoundHandler", (Handler,), {"coordinator": coordinator})
    server = Server(("127.0.0.1", coordinator.port), handler)
    coordinator.port = server.server_address[1]
    thread = threading.Thread(target=lambda: server.serve_forever(0.02), daemon=True)
    thread.start()
    try:
        yield coordinator
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    coordinator: LittleCoordinator
    body: bytes

    def log_message(self, *args: object) -> None:
        """The recorded requests say more."""

    # Sending

    def reply(self, status: int, body: bytes = b"", headers: Mapping[str, str] = PROTOCOL) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def json(self, status: int, body: dict[str, Any], **headers: str) -> None:
        kind = "application/problem+json" if status >= 400 else "application/json"
        self.reply(status, json.dumps(body).encode(), PROTOCOL | {"Content-Type": kind} | headers)

    def problem(self, status: int, code: str, retry: bool, **extra: Any) -> None:
        body = {"title": code, "status": status, "detail": f"because {code}", "kod": code}
        self.json(status, body | {"tekrar": retry} | extra)

    # Receiving

    def handle_any(self) -> None:
        length = self.headers.get("Content-Length")
        body = self.body = self.rfile.read(int(length)) if length else b""
        path = self.path.removeprefix(BASE)
        if path == self.path:
            return self.reply(404, b"<html>nothing here</html>", {})
        with self.coordinator.lock:
            self.coordinator.seen.append(Seen(self.command, path, dict(self.headers), body))
            override = self.override(path)
        if override:
            return override(self)
        if self.headers.get("X-Modelen-Protokol") != "1" or not self.headers.get("User-Agent"):
            return self.problem(400, "protokol_desteklenmiyor", False, desteklenen=[1])
        with self.coordinator.lock:
            self.route(urlsplit(path).path, path, body)

    do_GET = do_POST = do_PUT = do_PATCH = do_HEAD = handle_any

    def override(self, path: str) -> Hostile | None:
        for (method, start), answers in self.coordinator.overrides.items():
            if method == self.command and path.startswith(start) and answers:
                return answers.popleft()
        return None

    def route(self, path: str, whole: str, body: bytes) -> None:
        run = self.coordinator
        match self.command, path:
            case "GET", "/bilgi":
                self.json(200, run.about())
            case "GET", "/durum":
                self.json(200, {})
            case "POST", "/kayit" if run.keeps_names:
                self.register(json.loads(body))
            case "POST", "/gorev":
                self.lease(json.loads(body))
            case "GET" | "HEAD", _ if path in ("/adaptor", "/veri", *run.more_files):
                self.send_file(run.file(path))
            case "POST", _ if path.endswith("/nabiz"):
                self.json(200, {"devam": run.go_on, "sure": run.lease_seconds})
            case _, "/sonuc":
                self.deliver(parse_qs(urlsplit(whole).query)["gorev"][0], body)
            case _:
                self.problem(404, "yok", False)

    def register(self, request: dict[str, Any]) -> None:
        run, name, token = self.coordinator, request["isci"], request["belirtec"]
        if run.names.setdefault(name, token) != token:
            return self.problem(409, "isci_dolu", False)
        self.json(201, {"durum": run.standing})

    def owns(self, name: str) -> bool:
        token = self.coordinator.names.get(name)
        return token is None or self.headers.get("Authorization") == f"Bearer {token}"

    def lease(self, request: dict[str, Any]) -> None:
        run, request_id = self.coordinator, request["istek"]
        if not self.owns(request["isci"]):
            return self.problem(401, "belirtec_gerekli", False)
        same = [lease for lease in run.leases.values() if lease.request_id == request_id]
        if same and same[0].result is None:
            return self.json(200, run.task(same[0]))
        if same:
            return self.problem(409, "istek_kullanildi", False)
        if run.round > run.rounds:
            return self.problem(410, "bitti", False)
        lease = Lease(f"lease-{len(run.leases) + 1}", request_id, run.round)
        run.leases[lease.lease_id] = lease
        self.json(200, run.task(lease))

    def send_file(self, data: bytes) -> None:
        etag = f'"{sha256(data)}"'
        found = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if not found or self.headers.get("If-Range", etag) != etag:
            return self.reply(200, data, PROTOCOL | {"ETag": etag})
        first, last = int(found[1]), min(int(found[2]), len(data) - 1)
        if first >= len(data):
            return self.problem(416, "aralik_disi", False)
        where = f"bytes {first}-{last}/{len(data)}"
        self.reply(206, data[first : last + 1], PROTOCOL | {"ETag": etag, "Content-Range": where})

    # Delivering

    def deliver(self, lease_id: str, body: bytes) -> None:
        lease = self.coordinator.leases.get(lease_id)
        if lease is None:
            return self.problem(404, "gorev_yok", False)
        if self.headers.get("X-Modelen-Anahtar") != "k" * 32:
            return self.problem(403, "anahtar_gecersiz", False)
        if self.command == "GET":
            fate = self.coordinator.fates.get(lease_id, "birlesti" if lease.result else "bekliyor")
            return self.json(200, {"durum": fate})
        if self.command == "POST":
            return self.deliver_whole(lease, body)
        if not self.coordinator.resumable:
            return self.problem(405, "yontem_yok", False)
        return self.announce(lease, body) if self.command == "PUT" else self.chunk(lease, body)

    def deliver_whole(self, lease: Lease, body: bytes) -> None:
        digest = base64.b64encode(hashlib.sha256(body).digest()).decode()
        if self.headers.get("Content-Digest") != f"sha-256=:{digest}:":
            return self.problem(400, "ozet_uyusmuyor", True)
        self.accept(lease, body)

    def announce(self, lease: Lease, body: bytes) -> None:
        values = json.loads(body)
        if lease.announced != values:
            lease.announced, lease.received = values, bytearray()
        if len(lease.received) == values["boyut"]:
            return self.accept(lease, bytes(lease.received))
        self.json(200, {"ofset": len(lease.received), "parca_boyut": CHUNK})

    def chunk(self, lease: Lease, body: bytes) -> None:
        if lease.announced is None:
            return self.problem(409, "duyurulmadi", True)
        if int(self.headers["Upload-Offset"]) != len(lease.received) or len(body) > CHUNK:
            return self.problem(409, "ofset_uyusmuyor", True, ofset=len(lease.received))
        lease.received += body
        if len(lease.received) == lease.announced["boyut"]:
            return self.accept(lease, bytes(lease.received))
        self.reply(204, headers=PROTOCOL | {"Upload-Offset": str(len(lease.received))})

    def accept(self, lease: Lease, data: bytes) -> None:
        if lease.announced and sha256(data) != lease.announced["sha256"]:
            return self.problem(400, "ozet_uyusmuyor", True)
        if lease.result is None:
            lease.result = data
            self.coordinator.round += 1
        verdict = {"kabul": True, "gorev": lease.lease_id, "tur": lease.round}
        self.json(200, verdict | {"sha256": sha256(data)})


# Ways to misbehave


def answer(status: int, body: bytes = b"", headers: Mapping[str, str] | None = None) -> Hostile:
    """This answer, with the protocol's header."""
    return lambda handler: handler.reply(status, body, PROTOCOL | dict(headers or {}))


def bare(status: int, body: bytes, headers: Mapping[str, str] | None = None) -> Hostile:
    """An answer that is no coordinator's: without the protocol's header."""
    return lambda handler: handler.reply(status, body, dict(headers or {}))


def problem(status: int, code: str, retry: bool) -> Hostile:
    return lambda handler: handler.problem(status, code, retry)


def json_answer(body: dict[str, Any]) -> Hostile:
    return lambda handler: handler.json(200, body)


def drop_line(handler: Handler) -> None:
    """Read the request, do nothing, close."""
    handler.close_connection = True


def do_but_lose_answer(handler: Handler) -> None:
    """Do what was asked and close before the answer goes out."""
    body = handler.coordinator.seen[-1].body
    path = handler.path.removeprefix(BASE)
    real, handler.wfile = handler.wfile, _Nowhere()  # type: ignore[assignment]
    with handler.coordinator.lock:
        handler.route(urlsplit(path).path, path, body)
    handler.wfile = real
    handler.close_connection = True


class _Nowhere:
    def write(self, data: bytes) -> int:
        return len(data)

    def flush(self) -> None:
        return


def endless(handler: Handler) -> None:
    """A body that never ends."""
    handler.send_response(200)
    handler.send_header("X-Modelen-Protokol", "1")
    handler.end_headers()
    handler.close_connection = True
    try:
        while True:
            handler.wfile.write(b" " * 65536)
    except OSError:
        return
