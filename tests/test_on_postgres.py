"""The second run of the tests: its servers, the settings it is given, what its last line says."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import on_postgres
from tests.servers import postgresql, redis

# What the settings chose, and an answer from each server.
LOOK = """
import django
django.setup()
from django.conf import settings
from django.core.cache import cache
from django.db import connection
with connection.cursor() as cursor:
    cursor.execute("SELECT version()")
    print(cursor.fetchone()[0].split()[0])
cache.set("seen", "Redis")
print(cache.get("seen"), settings.MODELEN_EMBEDDED, settings.MODELEN_PUBLIC, settings.DEBUG)
print(settings.REDIS_URL[-2:])
connection.close_pool()
"""


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A computer without Redis."""
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))


@pytest.mark.needs("postgresql", "redis")
def test_the_settings_of_tests_use_the_servers_that_were_started(tmp_path: Path) -> None:
    of_xdist = {"PYTEST_XDIST_WORKER": "gw3", "MODELEN_VAR": str(tmp_path)}
    with postgresql() as database, redis() as cache:
        servers = {"TESTS_POSTGRES": database, "TESTS_REDIS": cache}
        settings = {"DJANGO_SETTINGS_MODULE": "tests.settings", **servers, **of_xdist}
        command = [sys.executable, "-c", LOOK]
        output = subprocess.check_output(command, env=os.environ | settings, text=True)
    assert output.splitlines() == ["PostgreSQL", "Redis False False False", "/3"]


@pytest.mark.needs("postgresql", "redis")
def test_the_exit_status_is_that_of_the_tests(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    failing = tmp_path / "test_failing.py"
    failing.write_text("def test_failing(): assert False\n")
    arguments = ["-q", "-p", "no:cacheprovider", "-c", "pyproject.toml", str(failing)]
    assert on_postgres.main(arguments) == 1
    last = capfd.readouterr().out.splitlines()[-1]
    assert last == "On PostgreSQL and Redis: FAILED, pytest's exit status is 1"


@pytest.mark.parametrize("ci, status", [("", 0), ("true", 1)])
def test_without_a_server_nothing_runs_and_ci_fails(
    nowhere: None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    ci: str,
    status: int,
) -> None:
    monkeypatch.setenv("CI", ci)
    assert on_postgres.main([]) == status
    line = "On PostgreSQL and Redis: NOT RUN: no redis, apt-get install redis-server\n"
    assert capsys.readouterr().out == line
