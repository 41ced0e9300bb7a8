"""A whole coordinator of protocol v1 to read and to start from. It forgets all when it ends.

python -m worker_client init-snapshot tiny-qwen3-lora-r4 --seed 0 --out run/snapshot.safetensors
python -m worker_client shard tiny-qwen3-lora-r4 texts/ --mode cpt --seq 64 --shards 2 --out run
python examples/minimal_coordinator.py run 8000 tur_sayisi=3 seq=64
"""

import base64
import json
import math
import re
import secrets
import sys
import threading
import time
from array import array
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from operator import sub
from pathlib import Path
from types import SimpleNamespace as Lease
from typing import Any
from urllib.parse import parse_qsl, urlsplit

FIELDS: dict[str, Any] = {
    "bicim": "tiny-qwen3-lora-r4", "taban_model": "modelen/tiny-qwen3@seed-0", "mod": "cpt",
    "recete": "v1", "tur_sayisi": 3, "ic_adim": 4, "bs": 2, "seq": 64, "lr": 0.001, "tohum": 0,
    "sure": 600, "protokol": 1, "ad": "mini", "veri": True, "birlestirme": "referans"}  # fmt: skip
METHODS = dict.fromkeys(["bilgi", "durum", "adaptor", "veri"], "GET, HEAD")
METHODS |= {"gorev": "POST", "sonuc": "GET, POST"}
MIB, WIDTH = 2**20, {"F32": 4, "I32": 4, "BF16": 2, "F16": 2, "I64": 8, "U8": 1}
Answer = tuple[int, Any, dict[str, str]]  # status, body, headers


class Refused(Exception): ...  # its arguments are the answer


def demand(met: Any, status: int, kod: str, detail: str, retry: bool = False, **more: Any) -> None:
    headers = {"Connection": "close"} | more.pop("headers", {})  # a body may have gone unread
    problem = {"type": "about:blank", "title": kod, "status": status, "detail": detail}
    if not met:
        raise Refused(status, problem | {"kod": kod, "tekrar": retry} | more, headers)


def read_tensors(data: bytes) -> dict[str, tuple[str, list[int], bytes]]:
    """Name to (dtype, shape, bytes), in the order of the data, which they have to tile."""
    end = start = 8 + int.from_bytes(data[:8], "little")
    header, tensors = json.loads(data[8:start]), {}
    header.pop("__metadata__", None)
    for name, item in sorted(header.items(), key=lambda pair: pair[1]["data_offsets"]):
        begin, stop = (start + offset for offset in item["data_offsets"])
        if (begin, stop - begin) != (end, math.prod(item["shape"]) * WIDTH[item["dtype"]]):
            raise ValueError(f"{name} overlaps, leaves a gap or has another size")
        tensors[name], end = (item["dtype"], item["shape"], data[begin:stop]), stop
    if end != len(data):
        raise ValueError("the header describes a file of another size")
    return tensors


class Run:
    def __init__(self, folder: Path, fields: dict[str, Any]) -> None:
        shards = sorted(folder.glob("shard-*.safetensors"))
        self.files = {f"/veri?parca={i}": path.read_bytes() for i, path in enumerate(shards)}
        first = self.files["/adaptor?tur=1"] = (folder / "snapshot.safetensors").read_bytes()
        self.tensors, self.fields = read_tensors(first), fields | {"n_parca": len(shards)}
        self.weights = array("f", b"".join(data for *_, data in self.tensors.values()))
        self.momentum = array("f", bytes(4 * len(self.weights)))
        self.leases, self.gecmis = dict[tuple[str, str], Lease](), list[dict[str, Any]]()
        self.tur, self.began, self.results = 1, time.time(), dict[int, array]()

    def bilgi(self, request: "Request") -> Answer:
        return 200, self.fields | {"tur": min(self.tur, self.fields["tur_sayisi"])}, {}

    def durum(self, request: "Request") -> Answer:
        live, done = sum(map(self.live, self.leases.values())), len(self.results)
        over, before = self.tur > self.fields["tur_sayisi"], int(request.query.get("once", 10**7))
        judged = [told[0] for lease in self.leases.values() for told in lease.verdicts.values()]
        bos, kabul = 0 if over else self.fields["n_parca"] - live - done, judged.count(200)
        return 200, {
            "durum": "bitti" if over else "acik", "tur": self.tur - over, "isci_sayisi": live,
            "gorev": {"bos": bos, "kirada": live, "tamam": done},
            "tur_sayisi": self.fields["tur_sayisi"],
            "sonuc": {"kabul": kabul, "ret": len(judged) - kabul, "elenen": 0},
            "gecmis": [row for row in self.gecmis if row["tur"] < before][-100:]}, {}  # fmt: skip

    def file(self, request: "Request") -> Answer:
        demand(request.path in self.files, 404, "yok", "there is no such file")
        data, size = self.files[request.path], len(self.files[request.path])
        etag = f'"{sha256(data).hexdigest()}"'
        headers = {"ETag": etag, "Content-Type": "application/octet-stream"}
        if etag in request.headers.get("If-None-Match", ""):
            return 304, b"", headers
        span = re.fullmatch(r"bytes=(?=.*\d)(\d*)-(\d*)", request.headers.get("Range", ""))
        if not span or request.headers.get("If-Range", etag) != etag:
            return 200, data, headers
        start = int(span[1]) if span[1] else max(0, size - int(span[2]))
        stop = min(size, int(span[2]) + 1) if span[1] and span[2] else size
        demand(start < stop, 416, "aralik_disi", f"the file has {size} bytes")
        headers["Content-Range"] = f"bytes {start}-{stop - 1}/{size}"
        return 206, data[start:stop], headers

    adaptor = veri = file

    def gorev(self, request: "Request") -> Answer:
        try:
            ask = json.loads(request.data)
            asked = ask["isci"], ask["istek"]
            proper = re.fullmatch("[a-z0-9_-]{3,32} [0-9a-f]{32}", " ".join(asked))
        except (ValueError, KeyError, TypeError, RecursionError):
            proper = None
        demand(proper, 400, "gecersiz_istek", "send isci (3 to 32 of a-z 0-9 - _), istek (32 hex)")
        demand(self.tur <= self.fields["tur_sayisi"], 410, "bitti", "the run is over")
        if lease := self.leases.get(asked):
            demand(self.live(lease), 409, "istek_kullanildi", "that lease ended; draw a new istek")
            return self.task(lease)
        demand("ham" in ask.get("kodlama", ["ham"]), 409, "kodlama_yok", "this run takes ham only")
        taken = {lease.parca for lease in self.leases.values() if self.live(lease)}
        free = sorted(set(range(self.fields["n_parca"])) - taken - self.results.keys())
        if not free or "egit" not in ask.get("isler", ["egit"]):
            return 204, b"", {"Retry-After": "1"}
        ends, gorev, anahtar = time.time() + self.fields["sure"], *map(secrets.token_hex, (12, 32))
        self.leases[asked] = Lease(gorev=gorev, anahtar=anahtar, tur=self.tur, parca=free[0],
                                   ends=ends, open=True, verdicts={})  # fmt: skip
        return self.task(self.leases[asked])

    def live(self, lease: Lease) -> bool:
        wanted = lease.open and lease.tur == self.tur and lease.parca not in self.results
        return wanted and lease.ends > time.time()

    def task(self, lease: Lease) -> Answer:
        task = {"gorev": lease.gorev, "anahtar": lease.anahtar, "is": "egit", "kodlama": "ham",
                "tur": lease.tur, "adaptor": self.file_ref(f"/adaptor?tur={lease.tur}"),
                "parca": lease.parca, "veri": self.file_ref(f"/veri?parca={lease.parca}"),
                "son": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(lease.ends))}  # fmt: skip
        return 200, self.fields | task, {"Cache-Control": "no-store"}

    def file_ref(self, path: str) -> dict[str, Any]:
        digest, boyut = sha256(self.files[path]).hexdigest(), len(self.files[path])
        return {"yol": path, "sha256": digest, "boyut": boyut, "parca_boyut": MIB}

    def sonuc(self, request: "Request") -> Answer:
        lease: Any = {x.gorev: x for x in self.leases.values()}.get(request.query.get("gorev"))
        demand(lease, 404, "gorev_yok", "there is no such task")
        key = request.headers.get("X-Modelen-Anahtar", "")
        fits = secrets.compare_digest(lease.anahtar.encode(), key.encode())
        demand(fits, 403, "anahtar_gecersiz", "this key does not belong to this task")
        if request.command == "GET":
            demand(lease.verdicts, 404, "yok", "nothing was delivered for this task")
            status, body, _ = min(lease.verdicts.values(), key=lambda verdict: verdict[0])
            waiting = {"durum": "bekliyor" if lease.tur == self.tur else "birlesti"}
            return 200, waiting if status == 200 else {"durum": "ret", "kod": body["kod"]}, {}
        told = request.headers.get("Content-Digest", "")
        found = f"sha-256=:{base64.b64encode(sha256(request.data).digest()).decode()}:"
        demand(told.startswith("sha-256=:"), 400, "gecersiz_istek", "send Content-Digest: sha-256")
        demand(told == found, 400, "ozet_uyusmuyor", "it arrived damaged; send it again", True)
        if told not in lease.verdicts:  # the same bytes get the same verdict again
            try:
                lease.verdicts[told] = self.take(lease, request.data)
            except Refused as refused:
                lease.verdicts[told] = refused.args
            lease.open = False
        return lease.verdicts[told]

    def take(self, lease: Lease, data: bytes) -> Answer:
        demand(lease.tur == self.tur, 409, "tur_kapandi", f"round {lease.tur} is over")
        demand(lease.open and lease.parca not in self.results, 409, "gorev_dolu", "it has ended")
        self.results[lease.parca] = self.check(data)
        if len(self.results) == self.fields["n_parca"]:
            self.merge()
        digest = sha256(data).hexdigest()
        return 200, {"kabul": True, "gorev": lease.gorev, "tur": lease.tur, "sha256": digest}, {}

    def check(self, data: bytes) -> array:
        try:
            tensors = read_tensors(data)
        except Exception as error:  # whatever a stranger's bytes bring about
            demand(False, 400, "bozuk_dosya", f"no valid safetensors file: {error!r}")
        ours, theirs = self.tensors.keys(), tensors.keys()
        demand(theirs != {"delta"}, 422, "yanlis_kodlama", "this run takes ham only")
        demand(not ours - theirs, 422, "eksik_tensor", f"missing: {sorted(ours - theirs)}")
        demand(not theirs - ours, 422, "fazla_tensor", f"not wanted: {sorted(theirs - ours)}")
        for name, (dtype, shape, _) in tensors.items():
            demand(dtype == "F32", 422, "yanlis_tur", f"{name} is {dtype}, not F32")
            demand(shape == self.tensors[name][1], 422, "yanlis_sekil", f"{name} has {shape}")
        values = array("f", b"".join(tensors[name][2] for name in self.tensors))
        norm = math.dist(values, self.weights)
        demand(math.isfinite(norm), 422, "sonlu_degil", "a value is NaN or infinite")
        most = 4 * self.fields["lr"] * self.fields["ic_adim"] * math.sqrt(len(values))
        demand(norm <= most, 422, "norm_asimi", f"an update of norm {norm:g} is no honest training")
        return values

    def merge(self) -> None:  # the mean in order of parca, a Nesterov step, the next round
        results = [self.results[parca] for parca in sorted(self.results)]
        mean = array("f", (sum(each) / len(results) for each in zip(*results, strict=True)))
        g = array("f", map(sub, self.weights, mean))
        self.momentum = array("f", (0.5 * x + y for x, y in zip(self.momentum, g, strict=True)))
        step = array("f", (x + 0.5 * y for x, y in zip(g, self.momentum, strict=True)))
        self.weights = array("f", map(sub, self.weights, step))
        header, path = self.files["/adaptor?tur=1"], f"/adaptor?tur={self.tur + 1}"
        self.files[path] = header[: -4 * len(self.weights)] + self.weights.tobytes()
        row = {"tur": self.tur, "kabul": len(results), "sha256": self.file_ref(path)["sha256"]}
        self.gecmis.append(row | {"elenen": 0, "sure_s": time.time() - self.began})
        self.tur, self.began, self.results = self.tur + 1, time.time(), {}


class Request(BaseHTTPRequestHandler):
    protocol_version, timeout, lock = "HTTP/1.1", 60, threading.Lock()
    run: Run

    def handle_any(self) -> None:
        most = 4 * len(self.run.weights) + MIB + 8 if self.path.startswith("/sonuc") else 65536
        length = self.headers.get("Content-Length", "0" if self.command in ("GET", "HEAD") else "")
        try:
            demand(length.isdecimal(), 411, "uzunluk_gerekli", "send Content-Length")
            demand(int(length) <= most, 413, "cok_buyuk", f"at most {most} bytes")
            self.data = self.rfile.read(int(length))
            demand(len(self.data) == int(length), 400, "govde_kisa", "it was cut short", True)
            with self.lock:
                status, body, headers = self.answer()
        except Refused as refused:
            status, body, headers = refused.args
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        kind = f"application/{'problem+json' if status >= 400 else 'json'}"
        fixed = {"X-Modelen-Protokol": "1", "Content-Type": kind, "Content-Length": str(len(data))}
        self.send_response(status)
        for name, value in (fixed | headers).items():
            if name != "Content-Length" or status not in (204, 304):
                self.send_header(name, value)
        self.end_headers()
        self.wfile.write(b"" if self.command == "HEAD" else data)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any

    def answer(self) -> Answer:
        version = self.headers.get("X-Modelen-Protokol", "1").split(".")[0]
        demand(version == "1", 400, "protokol_desteklenmiyor", "this is version 1", desteklenen=[1])
        place, self.query = urlsplit(self.path).path[1:], dict(parse_qsl(urlsplit(self.path).query))
        demand(place in METHODS, 404, "yok", "nothing here")
        allow = {"Allow": METHODS[place]}
        demand(self.command in METHODS[place], 405, "yontem_yok", "see Allow", headers=allow)
        return getattr(self.run, place)(self)


if __name__ == "__main__":
    fields = FIELDS | {k: type(FIELDS[k])(v) for k, v in (w.split("=") for w in sys.argv[3:])}
    Request.run = Run(Path(sys.argv[1]), fields)
    with ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Request) as server:
        print(f"Serving on http://127.0.0.1:{server.server_port}", flush=True)
        server.serve_forever()
