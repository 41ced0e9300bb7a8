"""Fetches the file of each host named on the command line, in a process of its own:
``python -m tests.portal.verification.fetching PORT HOST...``.

Prints, as JSON, what came of each and whom it dialled. The one public address leads to PORT here.
"""

import json
import sys

import django
import pytest

from tests.portal.verification.wire import PUBLIC, Wire


def main(port: int, hosts: list[str]) -> None:
    django.setup()
    from portal.verification.address import Origin
    from portal.verification.challenge import PATH
    from portal.verification.fetch import fetch

    wire = Wire({(PUBLIC, 443): ("127.0.0.1", port)})
    with pytest.MonkeyPatch.context() as patch:
        wire.install(patch)
        found = {}
        for host in hosts:
            wire.dialled.clear()
            code = fetch(Origin("https", host, 443), PATH).code
            found[host] = {"code": code, "dialled": list(wire.dialled)}
    print(json.dumps(found))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
