"""Records on disk: whole or absent, never in between."""

import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import BaseModel

from worker_client.state import atomic


class Record(BaseModel):
    value: int
    padding: str = ""


def test_a_record_comes_back(tmp_path: Path):
    atomic.save(tmp_path / "a.json", Record(value=3))
    assert atomic.load(tmp_path / "a.json", Record) == Record(value=3)
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]


def test_none_is_none(tmp_path):
    assert atomic.load(tmp_path / "a.json", Record) is None


@pytest.mark.parametrize("content", [b"", b"{", b"\0" * 100, b'{"value": "x"}', b"[]", b"\xff\xfe"])
def test_an_unreadable_record_is_set_aside(tmp_path, content):
    path = tmp_path / "a.json"
    path.write_bytes(content)
    assert atomic.load(path, Record) is None
    assert (tmp_path / "a.json.broken").read_bytes() == content
    atomic.save(path, Record(value=1))
    assert atomic.load(path, Record) == Record(value=1)


def test_removing_what_is_not_there_is_fine(tmp_path):
    atomic.remove(tmp_path / "a.json")


def test_a_writer_killed_at_any_instant_leaves_a_whole_record(tmp_path):
    path = tmp_path / "a.json"
    program = f"""
from tests.worker_client.state.test_atomic import Record
from worker_client.state import atomic
from pathlib import Path
value = 0
while True:
    value += 1
    atomic.save(Path({str(path)!r}), Record(value=value, padding="x" * 100_000))
    print(value, flush=True)
"""
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    for _ in range(20):
        told = int(child.stdout.readline())
    child.kill()
    told = max([told, *map(int, child.stdout.read().split())])
    child.wait()
    child.stdout.close()
    record = atomic.load(path, Record)
    assert record is not None
    assert record.value in (told, told + 1)
    assert len(record.padding) == 100_000
