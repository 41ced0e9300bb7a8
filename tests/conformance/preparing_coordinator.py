"""The fuller coordinator, which has raw text that it shows to nobody.

For tests of the suite.
"""

import json
import sys
from http.server import ThreadingHTTPServer
from pathlib import Path

from examples.minimal_coordinator import FIELDS, METHODS, Answer, Request
from examples.minimal_coordinator import demand as refuse_unless
from tests.conformance.fuller_coordinator import FullRequest, FullRun

JOB = "on_isle"
METHODS |= {"ham_metin": "GET, HEAD", "belirtec": "GET, HEAD"}


class PreparingRun(FullRun):
    def bilgi(self, request: Request) -> Answer:
        status, body, headers = super().bilgi(request)
        return status, body | {"isler": ["egit", JOB]}, headers

    def gorev(self, request: Request) -> Answer:
        may_see = json.loads(request.data).get("isler") != [JOB]
        refuse_unless(may_see, 403, "onay_bekliyor", "an admin has to let you see text", True)
        return super().gorev(request)

    def ham_metin(self, request: Request) -> Answer:
        refuse_unless(request.path in self.files, 404, "yok", "for whoever prepares it")
        return self.file(request)

    belirtec = ham_metin


if __name__ == "__main__":
    fields = FIELDS | {k: type(FIELDS[k])(v) for k, v in (w.split("=") for w in sys.argv[3:])}
    FullRequest.run = PreparingRun(Path(sys.argv[1]), fields)
    with ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), FullRequest) as server:
        print("Serving on", flush=True)
        server.serve_forever()
