"""The fuller coordinator with an encoding of its own, up and down.

For tests of the suite. ``encoding`` and ``downlink`` name the two; an empty downlink is none.
"""

import hashlib
import json
import sys
from array import array
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np

from examples.minimal_coordinator import FIELDS, METHODS, Answer, Lease, Request, read_tensors
from examples.minimal_coordinator import demand as refuse_unless
from tests.conformance.fuller_coordinator import FullRequest, FullRun
from worker_client.contract.encodings import CHUNK, CODECS, encoded_bytes
from worker_client.contract.tensors import build_header

FIELDS |= {"encoding": "int8", "downlink": "int8", "birlestirme": ""}
METHODS |= {"fark": "GET, HEAD"}


class EncodingRun(FullRun):
    def __init__(self, folder: Path, fields: dict[str, Any]) -> None:
        super().__init__(folder, fields)
        self.up, self.down = CODECS[fields["encoding"]], CODECS.get(fields["downlink"])

    def bilgi(self, request: Request) -> Answer:
        status, body, headers = super().bilgi(request)
        return status, body | {"kodlama": [self.up.id, "ham"]}, headers

    fark = FullRun.file

    def gorev(self, request: Request) -> Answer:
        status, body, headers = super().gorev(request)
        if status == 200:
            ask = json.loads(request.data)
            lease = self.leases[ask["isci"], ask["istek"]]
            offered = self.up.id in ask.get("kodlama", ["ham"])
            lease.encoding = self.up.id if offered else "ham"
            lease.held = ask.get("elde")
            body = self.task(lease)[1]
        return status, body, headers

    def task(self, lease: Lease) -> Answer:
        status, body, headers = super().task(lease)
        body |= {"kodlama": getattr(lease, "encoding", "ham")}
        path = f"/fark?tur={lease.tur}"
        if getattr(lease, "held", None) == lease.tur - 1 and path in self.files:
            update = {"tur": lease.tur - 1, "kodlama": self.fields["downlink"]}
            body |= {"fark": self.file_ref(path) | update}
        return status, body, headers

    def take(self, lease: Lease, data: bytes) -> Answer:
        self.judged = lease
        return super().take(lease, data)

    def check(self, data: bytes) -> array:
        if getattr(self.judged, "encoding", "ham") == "ham":
            return super().check(data)
        try:
            tensors = read_tensors(data)
        except Exception as error:
            refuse_unless(False, 400, "bozuk_dosya", f"{error!r}")
        size = int.from_bytes(data[:8], "little")
        told = json.loads(data[8 : 8 + size]).get("__metadata__", {}).get("kodlama", self.up.id)
        refuse_unless(told == self.up.id, 422, "yanlis_kodlama", "of another encoding")
        refuse_unless(tensors.keys() == {"delta"}, 422, "yanlis_kodlama", "no delta")
        values = np.array(self.weights) + self.decode(tensors["delta"][2])
        refuse_unless(np.isfinite(values).all(), 422, "sonlu_degil", "a value is not finite")
        norm = np.linalg.norm(values - np.array(self.weights))
        most = 4 * self.fields["lr"] * self.fields["ic_adim"] * np.sqrt(len(values))
        refuse_unless(norm <= most, 422, "norm_asimi", "no honest training")
        return array("f", values.astype("<f4").tobytes())

    def decode(self, data: bytes) -> np.ndarray:
        count, out, begin = len(self.weights), np.empty(len(self.weights), "<f4"), 0
        fits = len(data) == encoded_bytes(self.up, count)
        refuse_unless(fits, 400, "bozuk_dosya", "of another length")
        for i in range(0, count, CHUNK):
            chunk = out[i : i + CHUNK]
            piece = np.frombuffer(data, np.uint8, self.up.size(chunk.size), begin)
            try:
                self.up.decode(piece, chunk)
            except ValueError as error:
                refuse_unless(False, 400, "bozuk_dosya", str(error))
            begin += piece.size
        return out

    def merge(self) -> None:
        before = np.array(self.weights, "<f4")
        super().merge()
        if self.down is None:
            return
        moved, data = np.array(self.weights, "<f4") - before, b""
        for i in range(0, moved.size, CHUNK):
            chunk = moved[i : i + CHUNK]
            coded = self.down.encode(chunk)
            data += coded.tobytes()
            self.down.decode(coded, chunk)
        self.publish(array("f", (before + moved).tobytes()), data)

    def publish(self, values: array, data: bytes) -> None:
        """The weights that the update leads to, in the place of those that it was made from."""
        header = {"bicim": self.fields["bicim"], "format": "pt", "tur": str(self.tur)}
        specs = [(name, "F32", tuple(shape)) for name, (_, shape, _) in self.tensors.items()]
        whole = build_header(specs, header) + values.tobytes()
        self.weights, self.files[f"/adaptor?tur={self.tur}"] = values, whole
        self.gecmis[-1]["sha256"] = hashlib.sha256(whole).hexdigest()
        metadata = {"kodlama": self.fields["downlink"]}
        update = build_header([("delta", "U8", (len(data),))], metadata) + data
        self.files[f"/fark?tur={self.tur}"] = update


if __name__ == "__main__":
    fields = FIELDS | {k: type(FIELDS[k])(v) for k, v in (w.split("=") for w in sys.argv[3:])}
    FullRequest.run = EncodingRun(Path(sys.argv[1]), fields)
    with ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), FullRequest) as server:
        print("Serving on", flush=True)
        server.serve_forever()
