"""The store against real processes: racing it, and killed in the middle of it."""

import hashlib
import signal
import subprocess
import sys
from pathlib import Path

from coordination.store.local import BlobStore
from tests.coordination.store import processes

REPOSITORY = Path(__file__).parents[3]


def spawn(verb: str, root: Path) -> subprocess.Popen:
    command = [sys.executable, "-m", processes.__name__, verb, str(root)]
    return subprocess.Popen(
        command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=REPOSITORY
    )


def line(process: subprocess.Popen) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def kill(process: subprocess.Popen) -> str:
    """SIGKILL; returns the rest of what it said."""
    process.send_signal(signal.SIGKILL)
    rest, _ = process.communicate()
    assert process.returncode == -signal.SIGKILL
    return rest


def test_put_and_collect_race_in_two_processes(tmp_path: Path) -> None:
    collector = spawn("collect_until_told", tmp_path)
    assert line(collector) == "ready"
    putter = spawn("put_always_finds_its_blob", tmp_path)
    _, complaint = putter.communicate(timeout=120)
    (tmp_path / "enough").touch()
    removed, _ = collector.communicate(timeout=120)
    assert putter.returncode == 0, complaint
    assert int(removed) > 0


def test_killed_half_way_nothing_is_visible(tmp_path: Path) -> None:
    process = spawn("put_half", tmp_path)
    assert line(process) == "half"
    kill(process)
    store = BlobStore(tmp_path)
    assert list((tmp_path / "tmp").iterdir())
    assert store.collect(lambda sha256: False, older_than_s=-1) == []
    assert not list((tmp_path / "tmp").iterdir())


def test_killed_at_any_instant_every_blob_is_whole(tmp_path: Path) -> None:
    told = []
    for kill_after in (1, 4, 9):
        process = spawn("put_for_ever", tmp_path)
        told += [line(process) for _ in range(kill_after)]
        told += kill(process).split()
    blobs = {path.parent.name + path.name: path for path in tmp_path.glob("??/*")}
    assert set(told) <= set(blobs)
    for name, path in blobs.items():
        assert hashlib.sha256(path.read_bytes()).hexdigest() == name
