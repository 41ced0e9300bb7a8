"""The fuller coordinator, with a chunk of raw text; its person lets see it whoever asks thrice.

For tests of the suite.
"""

import json
import secrets
import sys
import time
from collections import Counter
from hashlib import sha256
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

from examples.minimal_coordinator import FIELDS, METHODS, Answer, Lease, Request, read_tensors
from examples.minimal_coordinator import demand as refuse_unless
from tests.conformance.fuller_coordinator import FullRequest, FullRun
from worker_client.models.seeded_base import tokenizer_json

JOB = "on_isle"
METHODS |= {"ham_metin": "GET, HEAD", "belirtec": "GET, HEAD"}
TEXT = b'{"title": "Ferry", "body": "it crosses a bay"}\n' * 20
ASKED_BEFORE = 2


def metadata_of(data: bytes) -> dict[str, str]:
    header = data[8 : 8 + int.from_bytes(data[:8], "little")]
    return json.loads(header).get("__metadata__", {})


class PreparingRun(FullRun):
    def __init__(self, folder: Path, fields: dict[str, Any]) -> None:
        super().__init__(folder, fields)
        self.asked: Counter[str] = Counter()
        self.tokenizer = tokenizer_json().encode()
        self.fields["belirtec_sha256"] = sha256(self.tokenizer).hexdigest()
        self.prepared = False

    def bilgi(self, request: Request) -> Answer:
        status, body, headers = super().bilgi(request)
        return status, body | {"isler": ["egit", JOB]}, headers

    def gorev(self, request: Request) -> Answer:
        ask = json.loads(request.data)
        if ask.get("isler") != [JOB]:
            return super().gorev(request)
        self.admit(ask, request)
        may_see = self.asked[ask["isci"]] >= ASKED_BEFORE
        self.asked[ask["isci"]] += 1
        refuse_unless(may_see, 403, "onay_bekliyor", "an admin has to let you see text", True)
        if self.prepared:
            return 204, b"", {"Retry-After": "1"}
        lease = self.leases[ask["isci"], ask["istek"]] = Lease(
            gorev=secrets.token_hex(12), anahtar=secrets.token_hex(32), tur=1, parca=0,
            ends=time.time() + self.fields["sure"], open=True, verdicts={}, prepares=True,
        )  # fmt: skip
        return self.task(lease)

    def task(self, lease: Lease) -> Answer:
        status, body, headers = super().task(lease)
        if hasattr(lease, "prepares"):
            files = {"ham_metin": TEXT, "belirtec": self.tokenizer}
            body |= {"is": JOB, "temizlik": "v1"}
            for name, data in files.items():
                path = f"/{name}?gorev={lease.gorev}"
                self.files[path] = data
                body[name] = self.file_ref(path)
            del body["adaptor"], body["veri"]
        return status, body, headers

    def ham_metin(self, request: Request) -> Answer:
        lease = {x.gorev: x for x in self.leases.values()}.get(request.query.get("gorev", ""))
        holder = self.owners().get(request.query.get("gorev", ""))
        refuse_unless(lease and holder == self.caller(request), 404, "yok", "for its holder")
        refuse_unless(lease and self.live(lease), 404, "yok", "its time is over")
        return self.file(request)

    belirtec = ham_metin

    def sonuc(self, request: Request) -> Answer:
        leases = [x for x in self.leases.values() if x.gorev == request.query.get("gorev")]
        if request.command == "GET" and leases and hasattr(leases[0], "fate"):
            return 200, leases[0].fate, {}
        return super().sonuc(request)

    def take(self, lease: Lease, data: bytes) -> Answer:
        if not hasattr(lease, "prepares"):
            return super().take(lease, data)
        self.read(data)
        lease.fate, self.prepared = {"durum": "kullanildi"}, True
        told = {"kabul": True, "gorev": lease.gorev, "tur": lease.tur}
        return 200, told | {"sha256": sha256(data).hexdigest()}, {}

    def read(self, data: bytes) -> None:
        tensors, told = read_tensors(data), metadata_of(data)
        refuse_unless("input_ids" in tensors, 422, "eksik_tensor", "input_ids is missing")
        refuse_unless(len(tensors) == 1, 422, "fazla_tensor", "input_ids only")
        dtype, (n, length), raw = tensors["input_ids"]
        refuse_unless(dtype == "I32", 422, "yanlis_tur", f"{dtype}, not I32")
        seq = self.fields["seq"]
        refuse_unless(length == seq, 422, "yanlis_sekil", f"rows of {length}")
        refuse_unless(n * seq <= 3 * len(TEXT), 422, "yanlis_sekil", "more than the text can give")
        ids = memoryview(raw).cast("i")
        within = all(0 <= number < 1000 for number in ids)
        refuse_unless(within, 400, "bozuk_dosya", "an id outside the vocabulary")
        same = told.get("belirtec_sha256") == self.fields["belirtec_sha256"]
        refuse_unless(same, 400, "bozuk_dosya", "of another tokenizer")
        refuse_unless(told.get("token") == str(n * (seq - 1)), 400, "bozuk_dosya", "wrong token")


if __name__ == "__main__":
    fields = FIELDS | {k: type(FIELDS[k])(v) for k, v in (w.split("=") for w in sys.argv[3:])}
    FullRequest.run = PreparingRun(Path(sys.argv[1]), fields)
    with ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), FullRequest) as server:
        print("Serving on", flush=True)
        server.serve_forever()
