"""The state folder: names, locks, and what is tidied away."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from worker_client.client.patience import BackoffRecord
from worker_client.contract.wire import LeaseRequest
from worker_client.state.folder import (
    MAX_KEPT_RESULTS,
    CoordinatorState,
    default_state_dir,
    own_name,
)
from worker_client.state.lock import StateBusy
from worker_client.state.names import draw_name
from worker_client.state.records import Delivered, Work

URL = "https://example.org/c/one"


@pytest.fixture
def state(tmp_path: Path) -> Iterator[CoordinatorState]:
    with CoordinatorState(tmp_path, URL) as state:
        yield state


def delivered(number: int) -> Delivered:
    return Delivered(lease_id=f"l{number}", lease_key="k" * 16, round=number, sha256="0" * 64)


def put(path: Path, size: int, age: int) -> None:
    path.write_bytes(b"x" * size)
    os.utime(path, (1_000_000 - age, 1_000_000 - age))


def test_the_folder_is_where_the_environment_says(monkeypatch, tmp_path):
    monkeypatch.setenv("MODELEN_STATE_DIR", str(tmp_path / "here"))
    assert default_state_dir() == tmp_path / "here"
    monkeypatch.delenv("MODELEN_STATE_DIR")
    assert default_state_dir().name == "modelen"


def test_the_made_up_name_is_kept_and_fits_the_protocol(tmp_path):
    name = own_name(tmp_path / "new")
    assert own_name(tmp_path / "new") == name
    assert re.fullmatch(r"[a-z]+-[a-z]+-\d{4}", name)
    for _ in range(200):
        LeaseRequest(worker=draw_name(), request_id="0" * 32)


def test_coordinators_have_folders_of_their_own(tmp_path):
    urls = [URL, "https://example.org/c/two", "https://example.org/c-one", "http://[::1]:8000/c/x"]
    folders = {CoordinatorState(tmp_path, url).folder for url in urls}
    assert len(folders) == len(urls)
    assert all(re.fullmatch(r"[a-z0-9.-]+", f.name) for f in folders)


def test_others_cannot_read_the_lease_key(state):
    assert state.folder.stat().st_mode & 0o077 == 0


def test_two_processes_do_not_share_a_folder(tmp_path, state):
    with pytest.raises(StateBusy, match="--state-dir"), CoordinatorState(tmp_path, URL):
        raise AssertionError("the lock was given twice")
    with CoordinatorState(tmp_path, "https://example.org/c/two"):
        assert state.folder.exists()


def test_the_lock_dies_with_its_process(tmp_path):
    program = f"""
import sys
from pathlib import Path
from worker_client.state.folder import CoordinatorState
with CoordinatorState(Path({str(tmp_path)!r}), {URL!r}):
    print("held", flush=True)
    sys.stdin.read()
"""
    child = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "held\n"
    with pytest.raises(StateBusy), CoordinatorState(tmp_path, URL):
        raise AssertionError("the lock was given twice")
    child.kill()
    child.communicate()
    with CoordinatorState(tmp_path, URL) as state:
        assert state.load_work() is None


def test_work_and_back_off_outlive_a_restart(tmp_path):
    with CoordinatorState(tmp_path, URL) as state:
        state.save_work(Work(worker="me-too", request_id="a" * 32))
        state.save_backoff(BackoffRecord(not_before=5.0, failures=3))
    with CoordinatorState(tmp_path, URL) as state:
        work = state.load_work()
        assert work is not None and work.request_id == "a" * 32
        assert state.load_backoff().failures == 3
        state.forget_work()
        assert state.load_work() is None


def test_results_are_kept_until_their_fate_is_known_but_not_without_end(state):
    for number in range(MAX_KEPT_RESULTS + 3):
        state.result_path(f"l{number}").write_bytes(b"result")
        state.save_delivered([*state.load_delivered(), delivered(number)])
    kept = {p.name for p in state.results.iterdir()}
    assert kept == {f"l{n}.safetensors" for n in range(3, MAX_KEPT_RESULTS + 3)}


def test_a_result_nobody_names_is_removed(state):
    state.result_path("half").write_bytes(b"x")
    state.tidy_results()
    assert list(state.results.iterdir()) == []


def test_tidying_drops_stale_parts_and_the_oldest_files_first(state):
    put(state.files / "wanted.part", 10, 9)
    put(state.files / "stale.part", 10, 1)
    put(state.files / "kept", 100, 99)
    put(state.files / "old", 100, 50)
    put(state.files / "new", 100, 2)
    state.tidy_files({"wanted", "kept"}, limit=210)
    assert {p.name for p in state.files.iterdir()} == {"wanted.part", "kept", "new"}
