"""A public site: settings from variables, Redis between its processes, TLS ended by a proxy."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from tests.modelen_site.processes import REPO, ServerProcess, serving
from tests.servers import redis

pytestmark = pytest.mark.needs("redis")
# What the proxy in front says of a request that reached it over TLS.
OVER_TLS = {"X-Forwarded-Proto": "https", "X-Forwarded-For": "192.0.2.7"}


@pytest.fixture(scope="module")
def redis_url() -> Iterator[str]:
    with redis() as address:
        yield f"{address}/0"


@pytest.fixture(scope="module")
def environment(redis_url: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    var = tmp_path_factory.mktemp("public")
    return {
        "DJANGO_SETTINGS_MODULE": "modelen_site.settings",
        "MODELEN_SECRET_KEY": "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNO",
        "MODELEN_ALLOWED_HOSTS": "modelen.example.org",
        "MODELEN_BEHIND_PROXY": "1",
        "MODELEN_STATIC_ROOT": str(var / "static"),
        "MODELEN_VAR": str(var),
        "DATABASE_URL": f"sqlite:///{var / 'db.sqlite3'}",
        "REDIS_URL": redis_url,
    }


def run(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=REPO,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )


@pytest.fixture(scope="module")
def site(environment: dict[str, str]) -> Iterator[ServerProcess]:
    early = run(environment, "manage.py", "serve", "--port", "0")
    assert "run `manage.py migrate` first" in early.stderr
    for command in (["migrate"], ["collectstatic", "--no-input"]):
        assert run(environment, "manage.py", *command, "-v", "0").returncode == 0
    with serving("manage.py", "serve", "--port", "0", **environment) as server:
        yield server


def get(site: ServerProcess, path: str, **headers: str) -> requests.Response:
    return requests.get(
        site.url + path,
        headers={"Host": "modelen.example.org", **headers},
        allow_redirects=False,
        timeout=60,
    )


def test_pages_are_for_tls_only(site: ServerProcess) -> None:
    plain = get(site, "/")
    assert (plain.status_code, plain.headers["Location"]) == (301, "https://modelen.example.org/")
    page = get(site, "/", **OVER_TLS)
    assert page.status_code == 200
    assert "max-age=31536000" in page.headers["Strict-Transport-Security"]


def test_probes_come_from_inside(site: ServerProcess) -> None:
    assert get(site, "/readyz").json() == {"status": "ok"}


def test_static_files_carry_their_digest_and_stay_cached(
    site: ServerProcess, environment: dict[str, str]
) -> None:
    gathered = Path(environment["MODELEN_STATIC_ROOT"], "admin", "css")
    [hashed] = [path.name for path in gathered.glob("base.*.css")]
    response = get(site, f"/static/admin/css/{hashed}", **OVER_TLS)
    assert response.status_code == 200
    assert "immutable" in response.headers["Cache-Control"]


def test_a_worker_of_its_own_takes_tasks_through_redis(environment: dict[str, str]) -> None:
    celery = ("-m", "celery", "-A", "modelen_site")
    worker = subprocess.Popen(
        [sys.executable, *celery, "worker", "--concurrency", "1"],
        cwd=REPO,
        env={**os.environ, **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        # Asks until a worker answers; each question waits ten seconds.
        answers = (run(environment, *celery, "inspect", "-t", "10", "ping") for _ in range(6))
        assert any("pong" in answer.stdout for answer in answers)
    finally:
        worker.terminate()
        worker.wait()
