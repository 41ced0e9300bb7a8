import base64
import hashlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from django.core.cache import cache

from coordination.models import Run
from coordination.tallies import gather
from tests.coordination.making import WorkerOf, make_run, vector, write_weights
from worker_client.contract.formats import load_format


@pytest.fixture(autouse=True)
def no_disk_reserve(settings) -> None:
    """A test machine's disk may be nearly full; what is tested is what we demand of it."""
    settings.DISK_RESERVE_BYTES = 0


@pytest.fixture(autouse=True)
def nothing_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """How many names an address has registered is counted in the cache, bytes and refusals in
    memory; both outlive a test."""
    cache.clear()
    monkeypatch.setattr(gather, "_gathered", gather.Gathered())


@pytest.fixture
def run(db, tmp_path: Path) -> Run:
    return make_run(tmp_path)


@pytest.fixture
def worker(run: Run) -> WorkerOf:
    return WorkerOf(run)


@pytest.fixture
def result_file(tmp_path: Path) -> Callable[..., bytes]:
    """The bytes of an honest result: the first snapshot, moved a little."""

    def make(seed: int = 2, run_format: str = "tiny-qwen3-lora-r4", **metadata: str) -> bytes:
        fmt = load_format(run_format)
        moved = vector(1, fmt) + vector(seed, fmt, 0.001)
        path = write_weights(tmp_path / "result", fmt, moved.astype(np.float32), metadata)
        return path.read_bytes()

    return make


@pytest.fixture
def post_whole() -> Callable:
    """Deliver bytes in one POST with a right digest."""

    def post(worker: WorkerOf, task: dict, body: bytes, **headers: str):
        digest = base64.b64encode(hashlib.sha256(body).digest()).decode()
        merged = {"Content-Digest": f"sha-256=:{digest}:"} | headers
        return worker.sonuc(
            task, "post", data=body, content_type="application/octet-stream", headers=merged
        )

    return post
