import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from accounts.create_admin import create_admin
from modelen_site.heartbeat import own_run, send_own
from portal.models import Coordinator, Presence
from tests.coordination.making import make_run
from tests.portal.making import begin_draft, make_approved


@pytest.mark.parametrize(
    ("address", "slug"),
    [
        ("https://modelen.example.org/c/tr", "tr"),
        ("https://modelen.example.org/c/tr/", "tr"),
        ("https://modelen.example.org/c/tr/x", None),
        ("https://modelen.example.org/", None),
        ("https://other.example.org/c/tr", None),
        ("not an address", None),
    ],
)
def test_whose_address_it_is(settings, address: str, slug: str | None) -> None:
    settings.ALLOWED_HOSTS = ["modelen.example.org"]
    assert own_run(address) == slug


def test_a_wildcard_claims_nobodys_address(settings) -> None:
    settings.ALLOWED_HOSTS = ["*"]
    assert own_run("https://other.example.org/c/tr") is None


@pytest.mark.django_db
def test_own_runs_send_their_beat_by_the_portals_verb(settings, tmp_path: Path) -> None:
    settings.DISK_RESERVE_BYTES = 0
    settings.ALLOWED_HOSTS = ["modelen.example.org"]
    make_run(tmp_path, "tr")
    admin = create_admin("admin@example.org", "a long enough passphrase")
    ours = make_approved(admin, admin, "ours", address="https://modelen.example.org/c/tr")
    foreign = make_approved(admin, admin, "foreign", address="https://other.example.org/c/tr")
    draft = begin_draft(admin, "draft", address="https://modelen.example.org/c/tr")
    send_own()
    send_own()
    for coordinator in (ours, foreign, draft):
        coordinator.refresh_from_db()
    assert (ours.presence, ours.heartbeat_seq, ours.run_status) == (Presence.ONLINE, 2, "acik")
    assert (ours.round, ours.rounds, ours.workers) == (1, 3, 0)
    assert ours.software.startswith("modelen/")
    assert {foreign.presence, draft.presence} == {Presence.NEVER}


class _Portal(BaseHTTPRequestHandler):
    def do_PUT(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.heard.append((self.path, self.headers["Authorization"], body))  # type: ignore[attr-defined]
        status = 200 if self.headers["Authorization"] == "Bearer right" else 401
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps({"interval_s": 60, "seq": body["seq"]}).encode())

    def log_message(self, *args: object) -> None:
        """The test reads what came; nobody reads a log."""


@pytest.fixture
def portal() -> Iterator[HTTPServer]:
    with HTTPServer(("127.0.0.1", 0), _Portal) as server:
        server.heard = []  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.mark.django_db
def test_the_command_sends_to_another_portal(settings, monkeypatch, portal, tmp_path: Path) -> None:
    settings.DISK_RESERVE_BYTES = 0
    make_run(tmp_path, "tr")
    url = f"http://127.0.0.1:{portal.server_port}"
    with pytest.raises(CommandError, match="MODELEN_PORTAL_KEY"):
        call_command("send_heartbeat", "tr", portal=url, once=True)
    monkeypatch.setenv("MODELEN_PORTAL_KEY", "right")
    with pytest.raises(CommandError, match="no run"):
        call_command("send_heartbeat", "none", portal=url, once=True)
    said = StringIO()
    call_command("send_heartbeat", "tr", "--portal", url, "--as", "there", "--once", stdout=said)
    [(path, _, body)] = portal.heard
    assert path == "/api/v1/coordinators/there/heartbeat"
    assert set(body) == {"seq", "status", "round", "rounds", "workers", "loss", "software"}
    assert "next in 60 s" in said.getvalue()
    monkeypatch.setenv("MODELEN_PORTAL_KEY", "wrong")
    with pytest.raises(CommandError, match="401"):
        call_command("send_heartbeat", "tr", portal=url, once=True)
    assert not Coordinator.objects.exists()
