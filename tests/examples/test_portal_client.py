"""examples/portal_client.py as people run it, against a server in a process of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from tests.e2e.site import PATIENCE_S, REPO, Site

MAKE_KEY = """
from accounts.create_admin import create_admin
from accounts.keys.create import create_key
from accounts.keys.scopes import Scope
admin = create_admin("admin@example.org", "a long enough passphrase")
print(create_key(admin, "client", Scope.values, None, 30)[1])
"""


# Without anything of this project, as somebody has it who copied the file.
ALONE = ("-I", str(REPO / "examples/portal_client.py"))
AS_MODULE = ("-m", "examples.portal_client")


class Client:
    """The program with a key; ``run`` returns its exit status and all that it printed."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.key = site.manage("shell", "-v", "0", "-c", MAKE_KEY).split()[-1]

    def run(
        self, *arguments: str, key: str | None = None, program: tuple[str, ...] = ALONE
    ) -> tuple[int, str]:
        done = subprocess.run(
            [sys.executable, *program, *arguments],
            cwd=REPO,
            env={
                "PATH": os.environ["PATH"],
                "MODELEN_PORTAL": self.site.url,
                "MODELEN_PORTAL_KEY": key or self.key,
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PATIENCE_S,
        )
        return done.returncode, done.stdout


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with Site(tmp_path_factory.mktemp("site"), MODELEN_TRUST_LOOPBACK="1") as site:
        site.start()
        yield site


@pytest.fixture(scope="module")
def client(site: Site) -> Client:
    return Client(site)


@pytest.fixture
def listing(site: Site, tmp_path: Path) -> Path:
    path = tmp_path / "listing.json"
    fields = {
        "name": "Demo",
        "slug": "demo",
        "address": site.base("demo"),
        "description": "Turkish for a small model.",
        "base_model": "Qwen/Qwen3-0.6B",
        "languages": ["tr"],
        "data_source": "Wikipedia",
        "data_licence": "CC BY-SA 4.0",
        "contact": "team@example.org",
    }
    path.write_text(json.dumps(fields), "utf-8")
    return path


def test_apply_check_and_heartbeat(site: Site, client: Client, listing: Path) -> None:
    status, told = client.run("heartbeat", "demo", "--once")
    assert (status, told) == (1, "Not found.\n")
    assert client.run("apply", str(listing)) == (
        0,
        "demo is submitted; now prove its address: check\n",
    )
    # The site serves the line of what its own staff runs on it.
    status, told = client.run("check", "demo")
    assert status == 0 and "\nok: " in told, told
    status, told = client.run("heartbeat", "demo", "--once")
    assert status == 1 and "does not tell its state" in told, "there is no run yet"
    site.make_run("demo")
    for program in (ALONE, AS_MODULE):
        sent = client.run("heartbeat", "demo", "--once", program=program)
        assert sent == (0, "sent, next in 60 s\n")
    answer = requests.get(
        f"{site.url}/api/v1/coordinators/demo",
        headers={"Authorization": f"Bearer {client.key}"},
        timeout=PATIENCE_S,
    ).json()
    assert (answer["proof"], answer["presence"], answer["run_status"]) == (
        "verified", "online", "acik",
    )  # fmt: skip
    assert answer["software"] == "portal_client/1"


def test_a_refusal_names_the_remedy(client: Client, listing: Path) -> None:
    fields = json.loads(listing.read_text("utf-8")) | {"slug": "no slug"}
    listing.write_text(json.dumps(fields), "utf-8")
    status, told = client.run("apply", str(listing))
    assert status == 1 and "slug: " in told
    status, told = client.run("check", "nowhere", key="mdl_wrong")
    assert status == 1 and "Authorization: Bearer mdl_" in told


def test_a_check_that_fails_says_why(site: Site, client: Client, listing: Path) -> None:
    fields = json.loads(listing.read_text("utf-8")) | {"slug": "other", "address": _nobody()}
    listing.write_text(json.dumps(fields), "utf-8")
    client.run("apply", str(listing))
    status, told = client.run("check", "other")
    assert status == 1 and "connect_refused: " in told


def _nobody() -> str:
    """An address on this computer at which nobody listens."""
    return "http://127.0.0.1:9"


def test_the_key_goes_over_https_only(client: Client) -> None:
    status, told = client.run("--portal", "http://portal.example.org", "check", "demo")
    assert status == 1 and "https://" in told
