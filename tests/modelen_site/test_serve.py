"""``manage.py serve`` as a person runs it."""

import signal
import socket
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests
from django.core.management import CommandError, call_command

from tests.modelen_site.processes import ServerProcess, serving

SERVE = ("manage.py", "serve", "--port", "0")
SETTINGS = {"DJANGO_SETTINGS_MODULE": "modelen_site.settings"}


@pytest.fixture
def site(tmp_path: Path) -> Iterator[ServerProcess]:
    with serving(*SERVE, **SETTINGS, MODELEN_VAR=str(tmp_path)) as server:
        yield server


def test_one_command_migrates_serves_and_stops(site: ServerProcess, tmp_path: Path) -> None:
    assert any(line.startswith("Updating the database: ") for line in site.lines)
    assert requests.get(f"{site.url}/readyz", timeout=60).json() == {"status": "ok"}
    assert site.stop() == 0
    assert site.process.stdout is not None
    assert site.process.stdout.read().endswith("Stopped.\n")
    with sqlite3.connect(tmp_path / "db.sqlite3") as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_ctrl_c_ends_it_cleanly(site: ServerProcess) -> None:
    assert site.stop(signal.SIGINT) == 0


def test_pages_carry_a_strict_policy_and_static_files_are_served(site: ServerProcess) -> None:
    page = requests.get(f"{site.url}/admin/login/", timeout=60)
    policy = page.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert page.headers["X-Frame-Options"] == "DENY"
    style = requests.get(f"{site.url}/static/admin/css/base.css", timeout=60)
    assert style.headers["Content-Type"].startswith("text/css")


def test_another_host_name_is_refused(site: ServerProcess) -> None:
    response = requests.get(site.url, headers={"Host": "evil.example"}, timeout=60)
    assert response.status_code == 400


def test_the_body_limit_is_the_settings(tmp_path: Path) -> None:
    environment = {"MODELEN_VAR": str(tmp_path), "MODELEN_MAX_BODY_BYTES": "1000"}
    with serving(*SERVE, **SETTINGS, **environment) as server:
        assert requests.put(server.url, data=bytes(1001), timeout=60).status_code == 413
        assert requests.put(server.url, data=bytes(1000), timeout=60).status_code != 413


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "::"])
def test_embedded_mode_stays_on_this_computer(host: str) -> None:
    with pytest.raises(CommandError, match="--allow-network"):
        call_command("serve", host=host)


def test_a_taken_port_names_the_remedy(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        with (
            pytest.raises(RuntimeError, match="choose another port with --port"),
            serving("manage.py", "serve", "--port", port, **SETTINGS, MODELEN_VAR=str(tmp_path)),
        ):
            pass
