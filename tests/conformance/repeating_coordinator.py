"""The fuller coordinator, which has each result repeated where somebody offers to.

For tests of the suite.
"""

import json
import secrets
import sys
import time
from array import array
from hashlib import sha256
from http.server import ThreadingHTTPServer
from math import dist
from pathlib import Path
from typing import Any

from examples.minimal_coordinator import FIELDS, Answer, Lease, Request
from examples.minimal_coordinator import demand as refuse_unless
from tests.conformance.fuller_coordinator import FullRequest, FullRun

JOB = "dogrula"
OF_LEASES = ("gorev", "anahtar", "is", "sure", "son")


class RepeatingRun(FullRun):
    """``pending`` are leases whose results wait for a verdict; each has its ``said``: the leases
    that brought repetitions, and their vectors."""

    job = JOB

    def __init__(self, folder: Path, fields: dict[str, Any]) -> None:
        super().__init__(folder, fields)
        self.offering: set[str] = set()
        self.pending: list[Lease] = []

    def bilgi(self, request: Request) -> Answer:
        status, body, headers = super().bilgi(request)
        return status, body | {"isler": ["egit", self.job]}, headers

    def durum(self, request: Request) -> Answer:
        """A repetition takes no unit of the round's."""
        status, body, headers = super().durum(request)
        live = [lease for lease in self.leases.values() if self.live(lease)]
        repeated = sum(hasattr(lease, "target") for lease in live)
        counts = body["gorev"]
        counts |= {"bos": counts["bos"] + repeated, "kirada": counts["kirada"] - repeated}
        return status, body, headers

    # Leases

    def gorev(self, request: Request) -> Answer:
        ask, address = json.loads(request.data), request.client_address[0]
        if self.job in ask.get("isler", []):
            self.admit(ask, request)
            self.offering.add(address)
            if found := self.to_repeat(address):
                lease = self.leases[ask["isci"], ask["istek"]] = self.repetition(found, address)
                return self.task(lease)
        status, body, headers = super().gorev(request)
        if status == 200:
            self.leases[ask["isci"], ask["istek"]].address = address
        return status, body, headers

    def to_repeat(self, address: str) -> Lease | None:
        for lease in self.pending:
            parties = {lease.address, *(one.address for one, _ in lease.said)}
            if address not in parties:
                return lease
        return None

    def repetition(self, target: Lease, address: str) -> Lease:
        fields = {"gorev": secrets.token_hex(12), "anahtar": secrets.token_hex(32)}
        ends = time.time() + self.fields["sure"]
        about = {"tur": target.tur, "parca": target.parca, "address": address, "target": target}
        return Lease(**fields, **about, ends=ends, open=True, verdicts={})

    def live(self, lease: Lease) -> bool:
        if not hasattr(lease, "target"):
            return super().live(lease)
        return lease.open and lease.ends > time.time() and lease.target in self.pending

    def task(self, lease: Lease) -> Answer:
        status, body, headers = super().task(lease)
        if hasattr(lease, "target"):
            hedef = {name: value for name, value in body.items() if name not in OF_LEASES}
            body |= {"is": JOB, "hedef": hedef}
        return status, body, headers

    # Results

    def sonuc(self, request: Request) -> Answer:
        leases = [x for x in self.leases.values() if x.gorev == request.query.get("gorev")]
        if request.command == "GET" and leases and hasattr(leases[0], "fate"):
            return 200, leases[0].fate, {}
        return super().sonuc(request)

    def take(self, lease: Lease, data: bytes) -> Answer:
        if hasattr(lease, "target"):
            return self.take_repetition(lease, data)
        lease.said = []
        if self.offering - {lease.address}:
            self.pending.append(lease)
        try:
            answer = super().take(lease, data)
        except Exception:
            self.pending = [one for one in self.pending if one is not lease]
            raise
        lease.vector = self.results.get(lease.parca)
        return answer

    def merge(self) -> None:
        if not self.pending:
            super().merge()

    def take_repetition(self, lease: Lease, data: bytes) -> Answer:
        target = lease.target
        refuse_unless(target in self.pending, 409, "gorev_dolu", "the check is over")
        vector = self.check(data)
        lease.fate = {"durum": "kullanildi"}
        others = [said for _, said in target.said]
        target.said.append((lease, vector))
        if self.agree(vector, target.vector):
            self.settle(target)
        elif any(self.agree(vector, other) for other in others):
            target.fate = {"durum": "elendi", "kod": "dogrulama_tutmadi"}
            del self.results[target.parca]
            self.settle(target)
        told = {"kabul": True, "gorev": lease.gorev, "tur": lease.tur}
        return 200, told | {"sha256": sha256(data).hexdigest()}, {}

    def agree(self, one: array, other: array) -> bool:
        return dist(one, other) <= 0.05 * dist(other, self.weights)

    def settle(self, target: Lease) -> None:
        self.pending = [one for one in self.pending if one is not target]
        if len(self.results) == self.fields["n_parca"]:
            self.merge()


if __name__ == "__main__":
    fields = FIELDS | {k: type(FIELDS[k])(v) for k, v in (w.split("=") for w in sys.argv[3:])}
    FullRequest.run = RepeatingRun(Path(sys.argv[1]), fields)
    with ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), FullRequest) as server:
        print("Serving on", flush=True)
        server.serve_forever()
