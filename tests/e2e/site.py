"""A whole site in processes of its own: the server that ``serve`` starts, and workers.

Whoever waits for a process is woken by the lines that it prints.
"""

import json
import os
import random
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self

import requests

REPO = Path(__file__).resolve().parents[2]
# On a busy machine an import of torch alone may take a minute.
PATIENCE_S = 240.0
# Below Linux's range for outgoing connections, any of which could take the port while the server
# is down for a moment.
PORTS = range(20_000, 32_000)

POLL_S = 0.05

Event = dict[str, Any]


def free_port() -> int:
    """A port that nobody listens on and that no outgoing connection will be given."""
    for port in random.SystemRandom().sample(PORTS, 100):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise RuntimeError("a hundred ports tried and none is free")


class Program:
    """A Python child process; its lines are kept and can be waited for."""

    def __init__(self, arguments: Sequence[str], environment: dict[str, str]) -> None:
        self.lines: list[str] = []
        self._changed = threading.Condition()
        self._silent = False
        self.process = subprocess.Popen(
            [sys.executable, *arguments],
            cwd=REPO,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as output:
            for line in output:
                with self._changed:
                    self.lines.append(line)
                    self._changed.notify_all()
        with self._changed:
            self._silent = True
            self._changed.notify_all()

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def wait_until(self, told: Callable[[], bool], seconds: float = PATIENCE_S) -> None:
        """Return when ``told`` is true of what the process printed.

        Raises:
            AssertionError: it ended first, or the time is up; the message carries its last lines.
        """
        with self._changed:
            self._changed.wait_for(lambda: told() or self._silent, seconds)
            assert told(), f"waited in vain; it said: {''.join(self.lines[-30:])}"

    def wait(self, seconds: float = PATIENCE_S) -> int:
        """Its exit status."""
        status = self.process.wait(seconds)
        self._reader.join(seconds)
        return status

    def kill(self) -> None:
        """SIGKILL, as a power cut would be; returns when the process is gone."""
        self.process.kill()
        self.wait()

    def stop(self) -> int:
        """SIGTERM; its exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.wait()

    def told(self) -> list[Event]:
        """The JSON objects it printed so far; a line cut short by a kill is left out."""
        return [json.loads(line) for line in self.lines if line[:1] + line[-2:] == "{}\n"]


class WorkerProcess(Program):
    """``python -m worker_client run --json``."""

    @property
    def events(self) -> list[Event]:
        return self.told()

    def named(self, name: str) -> list[Event]:
        return [event for event in self.events if event["event"] == name]

    def wait_for(self, *names: str) -> None:
        """Return when it has told one of these events."""
        self.wait_until(lambda: any(event["event"] in names for event in self.events))


class Site:
    """State folder, port and processes of one site, with more environment ``variables`` if needed.
    Leaving the block ends what still runs."""

    def __init__(self, folder: Path, models: Path | None = None, **variables: str) -> None:
        self.folder, self.port = folder, free_port()
        self.var = folder / "var"
        self.server: Program | None = None
        self._programs: list[Program] = []
        self.workers: list[WorkerProcess] = []
        self._environment = clean_environment() | {
            "MODELEN_VAR": str(self.var),
            "MODELEN_DISK_RESERVE_BYTES": "0",
            "PYTHONPATH": str(REPO),
            "PYTHONUNBUFFERED": "1",
            **variables,
        }
        if models is not None:
            self._environment["MODELEN_MODELS_DIR"] = str(models)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for program in self._programs:
            if program.alive:
                program.kill()

    @property
    def environment(self) -> dict[str, str]:
        """What this site's programs run in."""
        return dict(self._environment)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def base(self, slug: str) -> str:
        return f"{self.url}/c/{slug}"

    def start(self) -> Program:
        """Start the server, again on the same port; returns when it serves."""
        server = self._run(Program, "manage.py", "serve", "--port", str(self.port))
        self.server = server
        server.wait_until(lambda: any("Serving on" in line for line in server.lines))
        return server

    def kill_part(self, part: str) -> None:
        """SIGKILL to the server, the only part of a site in one process."""
        assert self.server is not None
        self.server.kill()

    def start_part(self, part: str) -> None:
        """Start again what was killed."""
        self.start()

    def manage(self, *arguments: str, seconds: float = PATIENCE_S) -> str:
        """What a management command printed; it must succeed."""
        return self._finish("manage.py", *arguments, seconds=seconds)

    def make_run(self, slug: str, **fields: object) -> None:
        """A run with files made by numpy, as ``tests.coordination.making.make_run`` makes it."""
        self._finish("-m", "tests.e2e.prepare", slug, json.dumps(fields))

    def worker(
        self,
        slug: str,
        name: str,
        *options: str,
        folder: str | None = None,
        program: str = "worker_client",
    ) -> WorkerProcess:
        """Start a worker, again with the same state folder, which has its name or is ``folder``.

        ``program`` is a module that takes the worker's arguments.
        """
        state = str(self.folder / (folder or name))
        command = ["-m", program, "run", self.base(slug), "--name", name]
        usual = ["--state-dir", state, "--threads", "1", "--device", "cpu", "--json"]
        return self._run(WorkerProcess, *command, *usual, *options)

    def status(self, slug: str) -> dict[str, Any]:
        answer = requests.get(f"{self.base(slug)}/durum", timeout=PATIENCE_S)
        answer.raise_for_status()
        return answer.json()

    def wait_until_over(self, slug: str) -> None:
        """Return when the run's last round is published."""
        until = time.monotonic() + PATIENCE_S
        while self.status(slug)["durum"] != "bitti":
            assert time.monotonic() < until, f"waited in vain for the end of {slug}"
            time.sleep(POLL_S)

    def said(self, text: str, then: int = 0) -> list[str]:
        """The lines with ``text`` in them of every program that ran here, each with so many lines
        that came ``then``."""
        return [
            "".join(program.lines[number : number + 1 + then])
            for program in self._programs
            for number, line in enumerate(program.lines)
            if text in line
        ]

    def rows(self, query: str, *values: object) -> list[tuple]:
        """Rows of the server's database as it lies on disk, whether the server runs or not."""
        database = sqlite3.connect(self.var / "db.sqlite3", timeout=60)
        try:
            return database.execute(query, values).fetchall()
        finally:
            database.close()

    def _run(self, kind: "type[Any]", *arguments: str) -> Any:
        program = kind(arguments, self._environment)
        self._programs.append(program)
        return program

    def _finish(self, *arguments: str, seconds: float = PATIENCE_S) -> str:
        program = self._run(Program, *arguments)
        status = program.wait(seconds)
        assert status == 0, f"{arguments}: exit {status}: {''.join(program.lines)}"
        return "".join(program.lines)


def clean_environment() -> dict[str, str]:
    """This process's environment without what would point the site elsewhere."""
    ours = ("MODELEN_", "DATABASE_URL", "REDIS_URL", "DJANGO_SETTINGS_MODULE")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)}


def fetch_model(folder: Path, format_id: str = "tiny-qwen3-lora-r4") -> Path:
    """A models folder that has a format's base model."""
    command = ["-m", "worker_client", "models", "fetch", format_id, "--models-dir", str(folder)]
    program = Program(command, clean_environment() | {"PYTHONPATH": str(REPO)})
    assert program.wait() == 0, "".join(program.lines)
    return folder
