"""``python -m worker_client`` as a process of its own, its events read as they come."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.worker_client.little_coordinator import LittleCoordinator

PROJECT = Path(__file__).parents[3]


class Program:
    """One running command with ``--json``."""

    def __init__(self, arguments: list[str], environment: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "worker_client", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=PROJECT,
            env=os.environ | environment,
            text=True,
        )
        self.events: list[dict[str, Any]] = []

    def read_until(self, name: str) -> dict[str, Any]:
        """The next event of this name; the test fails if the program ends without it."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.events.append(json.loads(line))
            if self.events[-1]["event"] == name:
                return self.events[-1]
        raise AssertionError(f"no {name}: {self.events} {self.finish()}")

    def finish(self) -> tuple[int, str]:
        """Exit status and standard error, once it has ended."""
        assert self.process.stdout is not None and self.process.stderr is not None
        self.events += [json.loads(line) for line in self.process.stdout]
        with self.process.stdout, self.process.stderr as stderr:
            return self.process.wait(), stderr.read()

    def of(self, name: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["event"] == name]


Start = Callable[..., Program]


@pytest.fixture
def start(server: LittleCoordinator, tiny_models: Path, tmp_path: Path) -> Iterator[Start]:
    """Start ``run --json`` against the little coordinator; ended with the test."""
    programs: list[Program] = []

    def start(*arguments: str) -> Program:
        environment = {
            "MODELEN_STATE_DIR": str(tmp_path / "state"),
            "MODELEN_MODELS_DIR": str(tiny_models),
        }
        command = ["run", server.url, "--json", "--threads", "1", "--device", "cpu", *arguments]
        programs.append(Program(command, environment))
        return programs[-1]

    yield start
    for program in programs:
        if program.process.poll() is None:
            program.process.kill()
        program.process.wait()
