"""The minimal coordinator with the protocol's optional parts: nabiz, chunks, tokens, a limit.

For tests of the suite: each of these parts can be given a fault, as the example itself can.
"""

import base64
import hashlib
import json
import re
import sys
import time
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from examples import minimal_coordinator as minimal
from examples.minimal_coordinator import FIELDS, METHODS, MIB, Answer, Lease, Refused, Request, Run
from examples.minimal_coordinator import demand as refuse_unless

CHUNK, PAGE = 65536, 100
FIELDS |= {"acik": True}
METHODS |= {"sonuc": "GET, HEAD, POST, PUT, PATCH", "kayit": "POST", "makbuz": "GET"}
TOKEN = r"mwk_[A-Za-z0-9_-]{32,128}"


def fields_of(request: Request, **patterns: str) -> dict[str, Any]:
    """The body's JSON object, whose members are as the patterns say."""
    try:
        values = json.loads(request.data)
        fits = all(re.fullmatch(p, str(values.get(n, ""))) for n, p in patterns.items())
        fits = fits and isinstance(values.get("liste", True), bool)
    except (ValueError, AttributeError, RecursionError):
        fits = False
    refuse_unless(fits, 400, "gecersiz_istek", f"send {', '.join(patterns)}")
    return values


class FullRun(Run):
    def __init__(self, folder: Path, fields: dict[str, Any]) -> None:
        super().__init__(folder, fields)
        self.tokens: dict[str, str] = {}
        self.sequence: dict[str, int] = {}

    # Tokens

    def kayit(self, request: Request) -> Answer:
        asked = fields_of(request, isci="[a-z0-9_-]{3,32}", belirtec=TOKEN)
        known = self.tokens.setdefault(asked["isci"], asked["belirtec"])
        refuse_unless(known == asked["belirtec"], 409, "isci_dolu", "choose another name")
        return 201, {"durum": "onayli" if self.fields["acik"] else "bekliyor"}, {}

    def caller(self, request: Request) -> str | None:
        """The name whose token is shown, None without one that is known."""
        shown = request.headers.get("Authorization", "").removeprefix("Bearer ")
        return next((name for name, known in self.tokens.items() if known == shown), None)

    def require_token(self, known: object) -> None:
        told = {"WWW-Authenticate": "Bearer"}
        refuse_unless(known, 401, "belirtec_gerekli", "show a token", headers=told)

    def demand_approved(self, request: Request) -> None:
        """In a closed run nobody is approved, for there is no admin."""
        if self.fields["acik"]:
            return
        self.require_token(self.caller(request))
        refuse_unless(False, 403, "onay_bekliyor", "an admin has to approve you", True)

    def makbuz(self, request: Request) -> Answer:
        name = self.caller(request)
        self.require_token(name)
        receipts = [
            self.receipt(lease, digest)
            for (isci, _), lease in reversed(self.leases.items())
            for digest in lease.verdicts
            if isci == name
        ]
        first = len(receipts) - int(request.query.get("once", len(receipts)))
        left = len(receipts) - first - PAGE
        more = {"once": left} if left > 0 else {}
        heard = {"sira": self.sequence[name]} if name in self.sequence else {}
        page = receipts[first : first + PAGE]
        return 200, {"isci": name, "makbuz": page} | more | heard, {}

    def receipt(self, lease: Lease, told: str) -> dict[str, Any]:
        status, body, _ = lease.verdicts[told]
        fate = {"durum": "bekliyor"} if status == 200 else {"durum": "ret", "kod": body["kod"]}
        about = {"gorev": lease.gorev, "tur": lease.tur, "parca": lease.parca}
        about |= {"is": "egit", "boyut": lease.sizes[told]}
        sha256 = base64.b64decode(told[9:-1]).hex()
        return about | fate | {"sha256": sha256, "zaman": "2026-01-01T00:00:00Z"}

    def admit(self, ask: dict[str, Any], request: Request) -> None:
        shown, owner = request.headers.get("Authorization"), self.caller(request)
        self.require_token(shown or ask["isci"] not in self.tokens)
        refuse_unless(not shown or owner, 403, "isci_uyusmuyor", "of nobody")
        refuse_unless(not shown or owner == ask["isci"], 403, "isci_uyusmuyor", "of another name")
        new = (ask["isci"], ask["istek"]) not in self.leases and "sira" in ask
        above = not new or ask["sira"] > self.sequence.get(ask["isci"], -1)
        refuse_unless(above, 409, "isci_kopya", "a copy of the state is at work")
        if new:
            self.sequence[ask["isci"]] = ask["sira"]

    # Leases

    def gorev(self, request: Request) -> Answer:
        ask = fields_of(request, isci="[a-z0-9_-]{3,32}", istek="[0-9a-f]{32}")
        self.admit(ask, request)
        live = [isci for (isci, _), lease in self.leases.items() if self.live(lease)]
        full = 0 < live.count(ask["isci"]) < len(live)
        known = (ask["isci"], ask["istek"]) in self.leases
        later = {"Retry-After": "1"}
        refuse_unless(known or not full, 409, "isci_mesgul", "one task", True, headers=later)
        return super().gorev(request)

    def nabiz(self, request: Request, gorev: str) -> Answer:
        told = fields_of(request, anahtar=".{16,}", adim="[0-9]+", ozet="([0-9a-f]{64})?")
        lease = self.held(gorev, told["anahtar"])
        if not self.live(lease):
            return 200, {"devam": False}, {}
        self.extend(lease)
        before = getattr(lease, "promised", "")
        lease.promised = told.get("ozet", before)
        refuse_unless(before in ("", lease.promised), 422, "taahhut_uyusmuyor", "one promise only")
        task = self.task(lease)[1]
        return 200, {"devam": True, "sure": task["sure"], "son": task["son"]}, {}

    def extend(self, lease: Lease) -> None:
        lease.ends = time.time() + self.fields["sure"]

    def owners(self) -> dict[str, str]:
        return {lease.gorev: isci for (isci, _), lease in self.leases.items()}

    def held(self, gorev: str, key: str) -> Lease:
        lease: Any = {x.gorev: x for x in self.leases.values()}.get(gorev)
        refuse_unless(lease, 404, "gorev_yok", "no such task")
        refuse_unless(lease.anahtar == key, 403, "anahtar_gecersiz", "not this task's")
        return lease

    # Chunks

    def sonuc(self, request: Request) -> Answer:
        owner = self.owners().get(request.query.get("gorev", ""))
        shown = request.headers.get("Authorization")
        mine = not shown or self.caller(request) == owner
        refuse_unless(mine or not owner, 403, "isci_uyusmuyor", "another worker's task")
        if request.command in ("GET", "POST"):
            return super().sonuc(request)
        key = request.headers.get("X-Modelen-Anahtar", "")
        lease = self.held(request.query.get("gorev", ""), key)
        if request.command == "PUT":
            return self.put(lease, request)
        refuse_unless(hasattr(lease, "announced"), 409, "duyurulmadi", "announce it", True)
        return self.patch(lease, request) if request.command == "PATCH" else self.offset(lease)

    def put(self, lease: Lease, request: Request) -> Answer:
        asked = fields_of(request, boyut="[1-9][0-9]*", sha256="[0-9a-f]{64}")
        most = 4 * len(self.weights) + MIB + 8
        refuse_unless(asked["boyut"] <= most, 413, "cok_buyuk", f"at most {most}")
        told = self.content_digest(asked["sha256"])
        if told in lease.verdicts:
            return lease.verdicts[told]
        status = 200
        if getattr(lease, "announced", None) != asked:
            lease.announced, lease.received, status = asked, b"", 201
        return status, {"ofset": len(lease.received), "parca_boyut": CHUNK}, {}

    def patch(self, lease: Lease, request: Request) -> Answer:
        have, data = len(lease.received), request.data
        fits = request.headers.get("Upload-Offset") == str(have)
        refuse_unless(fits, 409, "ofset_uyusmuyor", "go on there", True, ofset=have)
        refuse_unless(len(data) <= CHUNK, 413, "cok_buyuk", "a smaller chunk")
        within = have + len(data) <= lease.announced["boyut"]
        refuse_unless(within, 413, "cok_buyuk", "beyond the announced size")
        lease.received += data
        if self.live(lease):
            self.extend(lease)
        if len(lease.received) == lease.announced["boyut"]:
            return self.finish(lease)
        return self.offset(lease)

    def offset(self, lease: Lease) -> Answer:
        return 204, b"", {"Upload-Offset": str(len(lease.received))}

    def finish(self, lease: Lease) -> Answer:
        found = hashlib.sha256(lease.received).hexdigest()
        if found != lease.announced["sha256"]:
            del lease.announced
            refuse_unless(False, 400, "ozet_uyusmuyor", "it arrived damaged", True)
        told = self.content_digest(found)
        try:
            lease.verdicts[told] = self.take(lease, lease.received)
        except Refused as refused:
            lease.verdicts[told] = refused.args
        lease.open = False
        return lease.verdicts[told]

    def content_digest(self, sha256: str) -> str:
        return f"sha-256=:{base64.b64encode(bytes.fromhex(sha256)).decode()}:"

    def take(self, lease: Lease, data: bytes) -> Answer:
        told = self.content_digest(hashlib.sha256(data).hexdigest())
        lease.sizes = getattr(lease, "sizes", {}) | {told: len(data)}
        promised = getattr(lease, "promised", "")
        kept = promised in ("", hashlib.sha256(data).hexdigest())
        refuse_unless(kept, 422, "taahhut_uyusmuyor", "another file was promised")
        return super().take(lease, data)


class FullRequest(Request):
    def answer(self) -> Answer:
        path = urlsplit(self.path).path
        if path not in ("/bilgi", "/durum", "/kayit", "/makbuz"):
            self.run.demand_approved(self)  # type: ignore[attr-defined]
        found = re.fullmatch("/gorev/([^/]+)/nabiz", path)
        if found and self.command == "POST":
            return self.run.nabiz(self, found[1])  # type: ignore[attr-defined]
        return super().answer()


if __name__ == "__main__":
    fields = FIELDS | {k: type(FIELDS[k])(v) for k, v in (w.split("=") for w in sys.argv[3:])}
    FullRequest.run = FullRun(Path(sys.argv[1]), fields)
    with ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), FullRequest) as server:
        print(f"Serving on {minimal.__name__}", flush=True)
        server.serve_forever()
