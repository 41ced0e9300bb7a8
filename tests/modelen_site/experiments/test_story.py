"""From file to report; stopped and killed on the way."""

import io
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Self

import psutil
import pytest
from rich.console import Console

from modelen_site.experiments.publish import REPORT
from modelen_site.experiments.report import Report
from modelen_site.experiments.story import Story
from tests.e2e.site import clean_environment
from tests.modelen_site.experiments.small import as_toml, described, write_text
from tests.modelen_site.processes import PATIENCE_S, REPO

ARMS = [
    {"name": "sync", "kind": "synchronous", "clients": [2]},
    {"name": "DiLoCo", "kind": "diloco", "clients": [2], "inner_steps": [4]},
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    write_text(tmp_path / "text")
    path = tmp_path / "plan.toml"
    path.write_text(as_toml(described(arms=ARMS, learning_rates=[1e-2, 3e-3], seeds=[0, 1])))
    return path


class Heard(Story):
    """Keeps what it said."""

    def __init__(self, file: Path, root: Path) -> None:
        self.said = io.StringIO()
        super().__init__(file, root, "simulation", "command", Console(file=self.said, width=500))

    def trained(self) -> list[str]:
        return [line for line in self.said.getvalue().splitlines() if ", seed " in line]


def read(folder: Path) -> Report:
    return Report.model_validate_json((folder / REPORT).read_text("utf-8"))


def test_a_grid_is_run_once_and_goes_on_where_it_was_stopped(file, tmp_path):
    first = Heard(file, tmp_path / "root")
    folder = first.tell(processes=2)
    assert len(first.trained()) == 6  # 2 arms, 2 rates with the first seed, 1 with the other
    assert "6 cells, 96 steps to take" in first.said.getvalue()
    report = read(folder)
    assert (report.cells_done, report.cells) == (6, 6)
    assert [len(row.seeds) for row in report.rows] == [2, 2]
    assert (folder / "report.md").exists() and (folder / "loss-tokens.svg").exists()
    assert not list((folder.parent / "work").iterdir())

    again = Heard(file, tmp_path / "root")
    assert read(again.tell(processes=1)).rows == report.rows
    assert again.trained() == []

    # Half a cell, from when the disk was full, and a seed more.
    next((folder.parent / "cells").iterdir()).write_text("{")
    file.write_text(as_toml(described(arms=ARMS, learning_rates=[1e-2, 3e-3], seeds=[0, 1, 2])))
    third = Heard(file, tmp_path / "root")
    healed = read(third.tell(processes=2))
    assert len(third.trained()) == 3
    assert [row.digests[:2] for row in healed.rows] == [row.digests for row in report.rows]


class Command:
    """``manage.py experiment`` at work in a process of its own; a block."""

    def __init__(self, file: Path, folder: Path, tokens: int) -> None:
        file.write_text(as_toml(described(arms=ARMS, learning_rates=[1e-2, 3e-3], tokens=tokens)))
        command = [sys.executable, "manage.py", "experiment", str(file), "--processes", "2"]
        environment = clean_environment() | {"MODELEN_VAR": str(folder)}
        self.folder = folder
        self.process = subprocess.Popen(
            command, cwd=REPO, env=environment, stderr=subprocess.PIPE, text=True
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        assert self.process.stderr is not None
        self.process.stderr.close()

    def wait_for(self, words: str) -> None:
        assert self.process.stderr is not None
        while words not in self.process.stderr.readline():
            assert self.process.poll() is None

    def wait_for_work(self) -> None:
        """Until each of two cells has a folder of its own with a first snapshot in it."""
        until = time.monotonic() + PATIENCE_S
        while len(list(self.folder.rglob("work/*/snapshot-1.safetensors"))) < 2:
            assert self.process.poll() is None and time.monotonic() < until
            time.sleep(0.1)

    def end(self, number: signal.Signals) -> int:
        """Its status; none of its children may be left."""
        children = psutil.Process(self.process.pid).children(recursive=True)
        assert children
        self.process.send_signal(number)
        status = self.process.wait(PATIENCE_S)
        _, alive = psutil.wait_procs(children, PATIENCE_S)
        assert alive == []
        return status


def test_a_killed_grid_keeps_the_cells_that_are_done(file, tmp_path):
    with Command(file, tmp_path / "var", tokens=8192) as command:
        command.wait_for(", seed 0: loss")
        assert command.end(signal.SIGKILL) == -signal.SIGKILL
    again = Heard(file, tmp_path / "var" / "experiments")
    assert read(again.tell(processes=2)).cells_done == 4
    assert 1 <= len(again.trained()) <= 3


def test_whoever_stops_it_need_not_wait_for_a_cell(file, tmp_path):
    """Which here would take hours."""
    with Command(file, tmp_path / "var", tokens=10**8) as command:
        command.wait_for("Kept in")
        command.wait_for_work()
        assert command.end(signal.SIGINT) == 130
