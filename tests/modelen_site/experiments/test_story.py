"""From file to report; stopped and killed on the way."""

import io
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

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


@pytest.fixture
def started(file: Path, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """The command at work on a grid that is not done soon, its first cell done."""
    file.write_text(as_toml(described(arms=ARMS, learning_rates=[1e-2, 3e-3], tokens=8192)))
    command = [sys.executable, "manage.py", "experiment", str(file), "--processes", "2"]
    environment = clean_environment() | {"MODELEN_VAR": str(tmp_path / "var")}
    process = subprocess.Popen(
        command, cwd=REPO, env=environment, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    while "seed 0" not in process.stderr.readline():
        assert process.poll() is None
    yield process
    process.kill()
    process.wait()
    process.stderr.close()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_whatever_ends_it_leaves_cells_that_are_done_and_no_process(
    started, number, file, tmp_path
):
    children = psutil.Process(started.pid).children(recursive=True)
    assert children
    os.kill(started.pid, number)
    assert started.wait(PATIENCE_S) in (-signal.SIGKILL, 130)
    _, alive = psutil.wait_procs(children, PATIENCE_S)
    assert alive == []
    again = Heard(file, tmp_path / "var" / "experiments")
    report = read(again.tell(processes=2))
    assert report.cells_done == 4 and 1 <= len(again.trained()) <= 3
