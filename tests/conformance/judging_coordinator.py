"""The fuller coordinator, which has each result measured where somebody offers to.

For tests of the suite.
"""

import json
import sys
from hashlib import sha256
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

from examples.minimal_coordinator import FIELDS, METHODS, Answer, Lease
from examples.minimal_coordinator import demand as refuse_unless
from tests.conformance.fuller_coordinator import FullRequest, FullRun
from tests.conformance.repeating_coordinator import RepeatingRun

JOB = "olc"
METHODS |= {"aday": "GET, HEAD"}


class JudgingRun(RepeatingRun):
    """Its first shard is its held-out text as well."""

    job = JOB

    aday = FullRun.file

    def task(self, lease: Lease) -> Answer:
        status, body, headers = FullRun.task(self, lease)
        if hasattr(lease, "target"):
            path = f"/aday?gorev={lease.gorev}"
            self.files[path] = lease.target.vector.tobytes()
            veri = self.file_ref("/veri?parca=0")
            body |= {"is": JOB, "aday": self.candidates(lease, path), "veri": veri}
        return status, body, headers

    def candidates(self, lease: Lease, path: str) -> list[dict[str, Any]]:
        before = {"adaptor": self.file_ref(f"/adaptor?tur={lease.tur}")}
        after = before | {"sonuc": self.file_ref(path), "kodlama": "vektor"}
        found: list[dict[str, Any]] = [before, after]
        for shard in (lease.parca, (lease.parca + 1) % self.fields["n_parca"]):
            on = {"veri": self.file_ref(f"/veri?parca={shard}"), "parca": shard}
            found += [before | on, after | on]
        return found

    def take_repetition(self, lease: Lease, data: bytes) -> Answer:
        target = lease.target
        refuse_unless(target in self.pending, 409, "gorev_dolu", "the check is over")
        losses = json.loads(data)["kayip"]
        gains = [before - after for before, after in zip(losses[::2], losses[1::2], strict=True)]
        held, own, other = gains if len(gains) == 3 else (gains[0], 1, 1)
        lease.fate = {"durum": "kullanildi"}
        target.said.append((lease, losses))
        if own > 0 and own >= 0.75 * other and -held <= 0.1 * losses[0]:
            self.settle(target)
        elif len(target.said) > 1:
            target.fate = {"durum": "elendi", "kod": "olcum_tutmadi"}
            del self.results[target.parca]
            self.settle(target)
        told = {"kabul": True, "gorev": lease.gorev, "tur": lease.tur}
        return 200, told | {"sha256": sha256(data).hexdigest()}, {}


if __name__ == "__main__":
    fields = FIELDS | {k: type(FIELDS[k])(v) for k, v in (w.split("=") for w in sys.argv[3:])}
    FullRequest.run = JudgingRun(Path(sys.argv[1]), fields)
    with ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), FullRequest) as server:
        print("Serving on", flush=True)
        server.serve_forever()
