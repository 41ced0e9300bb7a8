"""The fuller coordinator, which has its first snapshot measured on the first shard.

For tests of the suite.
"""

import json
import math
import secrets
import sys
import time
from hashlib import sha256
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

from examples.minimal_coordinator import FIELDS, METHODS, Answer, Lease, Request
from examples.minimal_coordinator import demand as refuse_unless
from tests.conformance.fuller_coordinator import FullRequest, FullRun
from worker_client.contract.tensors import build_header

JOB = "olc"
METHODS |= {"ayrik": "GET, HEAD"}


class MeasuringRun(FullRun):
    def __init__(self, folder: Path, fields: dict[str, Any]) -> None:
        super().__init__(folder, fields)
        self.olcum: list[dict[str, Any]] = []
        rows, seq = 4, fields["seq"]
        self.predicted = rows * (seq - 1)
        self.predicted_bytes = 2 * self.predicted
        told = {"token": str(self.predicted), "bayt": str(self.predicted_bytes)}
        head = build_header([("input_ids", "I32", (rows, seq))], told)
        self.held_out = head + bytes(4 * rows * seq)

    def bilgi(self, request: Request) -> Answer:
        status, body, headers = super().bilgi(request)
        return status, body | {"isler": ["egit", JOB]}, headers

    def ayrik(self, request: Request) -> Answer:
        holder = self.owners().get(request.query.get("gorev", ""))
        may = holder and self.caller(request) in (None, holder)
        refuse_unless(may and request.path in self.files, 404, "yok", "for whoever measures")
        return self.file(request)

    def durum(self, request: Request) -> Answer:
        status, body, headers = super().durum(request)
        return status, body | {"olcum": self.olcum}, headers

    def gorev(self, request: Request) -> Answer:
        ask = json.loads(request.data)
        if ask.get("isler") != [JOB]:
            return super().gorev(request)
        self.admit(ask, request)
        lease = self.leases[ask["isci"], ask["istek"]] = Lease(
            gorev=secrets.token_hex(12), anahtar=secrets.token_hex(32), tur=1, parca=0,
            ends=time.time() + self.fields["sure"], open=True, verdicts={}, measures=True,
        )  # fmt: skip
        return self.task(lease)

    def task(self, lease: Lease) -> Answer:
        status, body, headers = super().task(lease)
        if hasattr(lease, "measures"):
            aday = [{"adaptor": self.file_ref("/adaptor?tur=1")}]
            path = f"/ayrik?gorev={lease.gorev}"
            self.files[path] = self.held_out
            body |= {"is": JOB, "aday": aday, "veri": self.file_ref(path)}
        return status, body, headers

    def sonuc(self, request: Request) -> Answer:
        leases = [x for x in self.leases.values() if x.gorev == request.query.get("gorev")]
        if request.command == "GET" and leases and hasattr(leases[0], "fate"):
            return 200, leases[0].fate, {}
        return super().sonuc(request)

    def take(self, lease: Lease, data: bytes) -> Answer:
        if not hasattr(lease, "measures"):
            return super().take(lease, data)
        loss = self.read(data)
        lease.fate = {"durum": "kullanildi"}
        bits = loss * self.predicted / math.log(2) / self.predicted_bytes
        self.olcum.append({"surum": 1, "dil": "tr", "kayip": loss, "bit_bayt": bits})
        told = {"kabul": True, "gorev": lease.gorev, "tur": lease.tur}
        return 200, told | {"sha256": sha256(data).hexdigest()}, {}

    def read(self, data: bytes) -> float:
        try:
            answer = json.loads(data)
            (loss,) = answer["kayip"]
            right = 0 <= loss <= 1e6
            counted = (answer["token"], answer["bayt"]) == (self.predicted, self.predicted_bytes)
        except (ValueError, KeyError, TypeError):
            right = counted = False
        refuse_unless(right and counted, 400, "bozuk_dosya", "no answer to olc")
        return loss


if __name__ == "__main__":
    fields = FIELDS | {k: type(FIELDS[k])(v) for k, v in (w.split("=") for w in sys.argv[3:])}
    FullRequest.run = MeasuringRun(Path(sys.argv[1]), fields)
    with ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), FullRequest) as server:
        print("Serving on", flush=True)
        server.serve_forever()
