"""The client past the system's own resolver, which asks a real name server of the test.

A namespace of its own gives the fetching process another ``/etc/resolv.conf``.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trustme

from portal.verification.codes import Code
from tests.e2e.site import REPO
from tests.portal.verification.conftest import tls
from tests.portal.verification.name_server import A, NameServer
from tests.portal.verification.wire import PUBLIC, Server, page

pytestmark = pytest.mark.needs("namespaces")

NAME_SERVER = "127.0.0.77"
INSIDE: dict[str, list[list[str] | str]] = {
    "private": [["10.0.0.1"]],
    "loopback": [["127.0.0.1"]],
    "metadata": [["169.254.169.254"]],
    "shared": [["100.64.0.1"]],
    "this-network": [["0.0.0.0"]],
    "multicast": [["224.0.0.1"]],
    "public-then-private": [[PUBLIC, "192.168.0.1"]],
    "private-then-public": [["192.168.0.1", PUBLIC]],
    "loopback-6": [["::1"]],
    "mapped": [["::ffff:127.0.0.1"]],
    "nat64": [["64:ff9b::7f00:1"]],
    "6to4": [["2002:7f00:1::"]],
    "teredo": [["2001:0:4136:e378:8000:63bf:3fff:fdd2"]],
    "unique-local": [["fd00::1"]],
    "public-4-private-6": [[PUBLIC, "fe80::1"]],
    "alias": ["private.example.org"],
    "alias-of-alias": ["alias.example.org"],
}
OUTSIDE: dict[str, tuple[list[list[str] | str], Code]] = {
    "honest": ([[PUBLIC]], Code.OK),
    "honest-alias": (["honest.example.org"], Code.OK),
    # Outside when vetted, inside ever after.
    "rebinding": ([[PUBLIC], ["127.0.0.1"]], Code.OK),
    "empty": ([[]], Code.DNS_NOT_FOUND),
    "failing": (["failure"], Code.DNS_TIMEOUT),
}
Found = dict[str, dict[str, Any]]


def full(name: str) -> str:
    return f"{name}.example.org"


@pytest.fixture(scope="module")
def name_server() -> Iterator[NameServer]:
    zone = INSIDE | {name: answers for name, (answers, _code) in OUTSIDE.items()}
    server = NameServer(NAME_SERVER, {full(name): answers for name, answers in zone.items()})
    yield server
    server.close()


@pytest.fixture(scope="module")
def found(
    name_server: NameServer, authority: trustme.CA, tmp_path_factory: pytest.TempPathFactory
) -> Found:
    """What a process with this resolver came to, by host."""
    folder = tmp_path_factory.mktemp("resolver")
    authority.cert_pem.write_to_path(folder / "authority.pem")
    hosts = [full(name) for name in (*INSIDE, *OUTSIDE, "nobody")]
    server = Server(page(b"outside"), tls(authority, *hosts))
    try:
        return _fetch(folder, server.address[1], hosts)
    finally:
        server.close()


def _fetch(folder: Path, port: int, hosts: list[str]) -> Found:
    (folder / "resolv.conf").write_text(f"nameserver {NAME_SERVER}\noptions timeout:5\n")
    (folder / "nsswitch.conf").write_text("hosts: dns\n")
    script = (
        'mount --bind "$0/resolv.conf" /etc/resolv.conf && '
        'mount --bind "$0/nsswitch.conf" /etc/nsswitch.conf && exec "$@"'
    )
    program = [sys.executable, "-m", "tests.portal.verification.fetching", str(port), *hosts]
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script, str(folder), *program],
        cwd=REPO,
        env=os.environ
        | {"DJANGO_SETTINGS_MODULE": "tests.settings"}
        | {"SSL_CERT_FILE": str(folder / "authority.pem"), "SSL_CERT_DIR": str(folder)},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", INSIDE)
def test_no_answer_of_a_name_server_leads_inside(found: Found, name: str) -> None:
    assert found[full(name)] == {"code": Code.DNS_PRIVATE_ADDRESS, "dialled": []}


@pytest.mark.parametrize("name", OUTSIDE)
def test_other_answers(found: Found, name: str) -> None:
    code = OUTSIDE[name][1]
    dialled = [[PUBLIC, 443]] if code == Code.OK else []
    assert found[full(name)] == {"code": code, "dialled": dialled}


def test_a_name_that_nobody_has(found: Found) -> None:
    assert found[full("nobody")] == {"code": Code.DNS_NOT_FOUND, "dialled": []}


def test_one_fetch_is_one_look_up(found: Found, name_server: NameServer) -> None:
    assert found[full("rebinding")]["code"] == Code.OK
    assert name_server.asked[full("rebinding"), A] == 1
