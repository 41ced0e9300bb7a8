"""A coordinator that dies between any two of its changes on disk goes on to the same bytes."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.site import PATIENCE_S, REPO

# Every third of about seventy; the two rounds repeat one pattern, so most kinds have their turn.
# All of them take a minute: python -m tests.faults.instants FOLDER
STEP = 3


@pytest.fixture(scope="module")
def state() -> Iterator[Path]:
    """In memory where there is such a place: a SIGKILL, unlike a power cut, loses no file."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder) / "var"


@pytest.fixture(scope="module")
def told(state: Path) -> dict[str, Any]:
    state.mkdir()
    command = [sys.executable, "-m", "tests.faults.instants", str(state), str(STEP)]
    done = subprocess.run(
        command, cwd=REPO, capture_output=True, text=True, timeout=2 * PATIENCE_S, check=False
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout)


def test_the_peaceful_run_merges_every_result(told: dict[str, Any]) -> None:
    peace = told["peace"]
    assert [result[1:] for result in peace["results"]] == [["merged", True]] * 4
    assert peace["rounds"] == [["published", 2]] * 2
    assert len(peace["snapshots"]) == 3 and peace["missing"] == []


def test_there_are_instants_to_die_at(told: dict[str, Any]) -> None:
    assert told["instants"] > 50
    assert told["deaths"] >= told["instants"] // STEP - 2


def test_every_death_leads_to_the_same_outcome(told: dict[str, Any]) -> None:
    assert told["differing"] == []
