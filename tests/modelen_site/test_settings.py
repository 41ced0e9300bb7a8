"""Settings as a fresh process reads them."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.modelen_site.processes import REPO

SECRET = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNO"
PUBLIC = {
    "MODELEN_SECRET_KEY": SECRET,
    "MODELEN_ALLOWED_HOSTS": "modelen.example.org",
    "DATABASE_URL": "postgres://modelen@localhost/modelen",
    "REDIS_URL": "redis://localhost:6379/0",
}


def run(tmp_path: Path, code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=REPO,
        env={**clean, "MODELEN_VAR": str(tmp_path / "var"), **environment},
        capture_output=True,
        text=True,
    )


def read(tmp_path: Path, *names: str, **environment: str) -> dict[str, Any]:
    code = (
        "import json; from modelen_site import settings as s; "
        f"print(json.dumps({{n: getattr(s, n) for n in {names!r}}}, default=str))"
    )
    done = run(tmp_path, code, **environment)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def test_with_nothing_set_it_is_one_process_on_loopback(tmp_path: Path) -> None:
    found = read(
        tmp_path, "DEBUG", "MODELEN_EMBEDDED", "MODELEN_PUBLIC", "ALLOWED_HOSTS",
        "CELERY_BROKER_URL", "SESSION_COOKIE_SECURE", "MAX_BODY_BYTES", "DISK_RESERVE_BYTES",
    )  # fmt: skip
    assert found == {
        "DEBUG": False,
        "MODELEN_EMBEDDED": True,
        "MODELEN_PUBLIC": False,
        "ALLOWED_HOSTS": ["localhost", "127.0.0.1", "[::1]"],
        "CELERY_BROKER_URL": "memory://localhost/",
        "SESSION_COOKIE_SECURE": False,
        "MAX_BODY_BYTES": 256 * 2**20,
        "DISK_RESERVE_BYTES": 2**30,
    }


def test_lease_keys_survive_a_restart(tmp_path: Path) -> None:
    first, second = (read(tmp_path, "LEASE_SECRET", "SECRET_KEY") for _ in range(2))
    assert first == second
    assert first["LEASE_SECRET"] != first["SECRET_KEY"]


def test_a_public_site_is_closed(tmp_path: Path) -> None:
    found = read(
        tmp_path, "MODELEN_PUBLIC", "MODELEN_EMBEDDED", "ALLOWED_HOSTS", "SECURE_SSL_REDIRECT",
        "SESSION_COOKIE_SECURE", "CSRF_COOKIE_SECURE", "SECURE_HSTS_SECONDS", **PUBLIC,
    )  # fmt: skip
    assert found == {
        "MODELEN_PUBLIC": True,
        "MODELEN_EMBEDDED": False,
        "ALLOWED_HOSTS": ["modelen.example.org"],
        "SECURE_SSL_REDIRECT": True,
        "SESSION_COOKIE_SECURE": True,
        "CSRF_COOKIE_SECURE": True,
        "SECURE_HSTS_SECONDS": 365 * 86400,
    }
    assert not (tmp_path / "var" / "secret_key").exists()


def test_redis_carries_queue_layer_and_cache(tmp_path: Path) -> None:
    found = read(tmp_path, "CELERY_BROKER_URL", "CHANNEL_LAYERS", "CACHES", **PUBLIC)
    assert found["CELERY_BROKER_URL"] == PUBLIC["REDIS_URL"]
    assert "channels_redis" in found["CHANNEL_LAYERS"]["default"]["BACKEND"]
    assert found["CACHES"]["default"]["LOCATION"] == PUBLIC["REDIS_URL"]


def test_postgresql_is_pooled_and_holds_no_connection_between_requests(tmp_path: Path) -> None:
    database = read(tmp_path, "DATABASES", **PUBLIC)["DATABASES"]["default"]
    assert database["ENGINE"] == "django.db.backends.postgresql"
    assert database["OPTIONS"]["pool"] is True
    assert database["CONN_MAX_AGE"] == 0


@pytest.mark.parametrize(
    ("change", "remedy"),
    [
        ({"MODELEN_SECRET_KEY": ""}, "MODELEN_SECRET_KEY must be"),
        ({"MODELEN_SECRET_KEY": "x" * 60}, "MODELEN_SECRET_KEY must be"),
        ({"MODELEN_ALLOWED_HOSTS": ""}, "MODELEN_ALLOWED_HOSTS is empty"),
        ({"MODELEN_ALLOWED_HOSTS": " , "}, "MODELEN_ALLOWED_HOSTS is empty"),
        ({"MODELEN_LEASE_SECRET": "weak"}, "must be at least 50"),
    ],
)
def test_a_public_site_does_not_start_half_configured(
    tmp_path: Path, change: dict[str, str], remedy: str
) -> None:
    done = run(tmp_path, "import modelen_site.settings", **{**PUBLIC, **change})
    assert done.returncode != 0
    assert remedy in done.stderr


def test_production_settings_pass_the_deployment_check(tmp_path: Path) -> None:
    code = "import sys; sys.argv[1:] = ['check', '--deploy', '--fail-level', 'WARNING']; "
    done = run(tmp_path, code + "import manage; manage.main()", **PUBLIC)
    assert done.returncode == 0, done.stderr


def test_sqlite_is_durable_and_locks_first(tmp_path: Path) -> None:
    code = """
import django; django.setup()
from django.db import connection
with connection.cursor() as cursor:
    for name in ("journal_mode", "synchronous", "busy_timeout"):
        print(cursor.execute(f"PRAGMA {name}").fetchone()[0])
print(connection.settings_dict["OPTIONS"]["transaction_mode"])
"""
    done = run(tmp_path, code, DJANGO_SETTINGS_MODULE="modelen_site.settings")
    assert done.stdout.split() == ["wal", "2", "20000", "IMMEDIATE"], done.stderr
