"""Killed at any instant and started again, every step ends with the bytes of one left in peace."""

import hashlib
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tests.e2e.site import PATIENCE_S, POLL_S, REPO
from tests.worker_client.corpus.conftest import RULES, packing
from worker_client.corpus.ingest import ingest
from worker_client.corpus.pack import pack
from worker_client.corpus.shard import shard

PIECE_BYTES = 8_000
DRIVER = f"""
import sys
from pathlib import Path
from tests.worker_client.corpus.conftest import RULES, packing
from worker_client.corpus.ingest import ingest
from worker_client.corpus.pack import pack
from worker_client.corpus.shard import shard
step, corpus, articles = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
if __name__ == "__main__":
    if step == "ingest":
        ingest(corpus, [articles], RULES, processes=2, piece_bytes={PIECE_BYTES})
    elif step == "pack":
        pack(corpus, packing(corpus), processes=2)
    else:
        shard(corpus, corpus / "out", 40, processes=2)
"""


class Killed:
    """A step in a process of its own, ended by SIGKILL once ``folder`` has so many files."""

    def __init__(self, tmp_path: Path, step: str, corpus: Path, articles: Path) -> None:
        program = tmp_path / "driver.py"
        program.write_text(DRIVER)
        self._command = [sys.executable, str(program), step, str(corpus), str(articles)]

    def start(self) -> subprocess.Popen:
        return subprocess.Popen(self._command, cwd=REPO, env={"PYTHONPATH": str(REPO)})

    def kill_at(self, files: int, folder: Path, pattern: str) -> bool:
        """Whether it was killed before it ended; no process of it is left."""
        process = self.start()
        parent = psutil.Process(process.pid)
        while process.poll() is None and len(list(folder.glob(pattern))) < files:
            time.sleep(POLL_S / 10)
        children = parent.children(recursive=True) if process.poll() is None else []
        process.kill()
        status = process.wait(PATIENCE_S)
        _, alive = psutil.wait_procs(children, PATIENCE_S)
        assert not alive, "processes outlive the one that started them"
        return status == -signal.SIGKILL

    def finish(self) -> None:
        assert self.start().wait(PATIENCE_S) == 0


def digests(folder: Path, pattern: str) -> dict[str, str]:
    found = {}
    for path in sorted(folder.glob(pattern)):
        found[path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def check(
    killed: Killed, at: list[int], folder: Path, pattern: str, wanted: dict[str, str]
) -> None:
    struck = [killed.kill_at(files, folder, pattern) for files in at]
    assert any(struck), "it was never killed in the midst of its work"
    killed.finish()
    assert digests(folder, pattern) == wanted
    assert not list(folder.glob("*.part"))


def test_ingest(articles, tmp_path):
    peace, corpus = tmp_path / "peace", tmp_path / "corpus"
    report = ingest(peace, [articles], RULES, piece_bytes=PIECE_BYTES)
    wanted = digests(peace / "ingest" / "articles", "*.jsonl")
    killed = Killed(tmp_path, "ingest", corpus, articles)
    check(killed, [2, 9, 15], corpus / "ingest" / "articles", "*.jsonl", wanted)
    assert ingest(corpus, [articles], RULES, piece_bytes=PIECE_BYTES) == report


@pytest.fixture
def cut(articles, corpus, tmp_path) -> Callable[[str], Path]:
    """A corpus of many pieces, with the same tokenizer."""

    def make(name: str) -> Path:
        folder = tmp_path / name
        ingest(folder, [articles], RULES, piece_bytes=PIECE_BYTES)
        (folder / "tokenizer").symlink_to(corpus / "tokenizer")
        return folder

    return make


def test_pack(cut, articles, tmp_path):
    peace, corpus = cut("peace"), cut("corpus")
    report = pack(peace, packing(peace))
    wanted = digests(peace / "pack", "*.i4") | digests(peace / "pack", "*.jsonl")
    killed = Killed(tmp_path, "pack", corpus, articles)
    struck = [killed.kill_at(files, corpus / "pack", "*.i4") for files in (3, 12, 25)]
    assert any(struck)
    killed.finish()
    assert digests(corpus / "pack", "*.i4") | digests(corpus / "pack", "*.jsonl") == wanted
    assert pack(corpus, packing(corpus)) == report


def test_shard(cut, articles, tmp_path):
    corpus = cut("corpus")
    pack(corpus, packing(corpus))
    report = shard(corpus, tmp_path / "peace", 40)
    wanted = digests(tmp_path / "peace", "*.safetensors")
    killed = Killed(tmp_path, "shard", corpus, articles)
    check(killed, [1, 20], corpus / "out", "*.safetensors", wanted)
    assert shard(corpus, corpus / "out", 40) == report
