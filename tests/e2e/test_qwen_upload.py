"""A result of the real format over real HTTP: 40 MB in chunks, merged into the next snapshot."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import psutil
import pytest
import requests

from tests.e2e.site import PATIENCE_S, Site
from tests.e2e.volunteer import Volunteer, weights, write_result
from worker_client.contract.formats import load_format
from worker_client.contract.wire import Task

FORMAT = load_format("qwen3-0.6b-lora-r16")
SLUG = "qwen"
CHUNK = 2**20


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with Site(tmp_path_factory.mktemp("qwen")) as site:
        site.make_run(SLUG, format=FORMAT.id, rounds=1, shards=1, chunk_bytes=CHUNK)
        site.start()
        yield site


@pytest.fixture(scope="module")
def volunteer(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Volunteer:
    return Volunteer(site.base(SLUG), "ada", tmp_path_factory.mktemp("ada"))


@pytest.fixture(scope="module")
def task(volunteer: Volunteer) -> Task:
    return volunteer.lease()


class Downloaded:
    """The snapshot on the volunteer's disk, and the server's memory while it came."""

    def __init__(self, site: Site, volunteer: Volunteer, task: Task) -> None:
        assert site.server is not None
        server = psutil.Process(site.server.process.pid)
        self.offsets: list[int] = []
        self.memory: list[int] = [server.memory_info().rss]

        def watch(done: int, total: int) -> None:
            self.offsets.append(done)
            self.memory.append(server.memory_info().rss)

        self.path = volunteer.download(task.snapshot, watch)


@pytest.fixture(scope="module")
def downloaded(site: Site, volunteer: Volunteer, task: Task) -> Downloaded:
    return Downloaded(site, volunteer, task)


def test_the_snapshot_comes_in_chunks_and_whole(task: Task, downloaded: Downloaded) -> None:
    size = downloaded.path.stat().st_size
    assert size == task.snapshot.size
    assert 0 < size - FORMAT.data_bytes < 64 * 1024
    assert downloaded.offsets == [*range(0, size, CHUNK), size]


def test_the_server_keeps_no_chunk_that_it_has_sent(downloaded: Downloaded) -> None:
    assert max(downloaded.memory) - downloaded.memory[0] < 12 * CHUNK


def test_a_result_with_shuffled_tensors_is_merged_in_manifest_order(
    site: Site, volunteer: Volunteer, task: Task, downloaded: Downloaded, tmp_path: Path
) -> None:
    start = weights(downloaded.path)
    noise = np.random.default_rng(1).standard_normal(start.size, np.float32)
    trained = start + np.float32(1e-4) * noise
    result = write_result(tmp_path / "result", FORMAT, trained, shuffle=2)
    sent: list[int] = []
    verdict = volunteer.deliver(task, result, lambda done, total: sent.append(done))
    assert verdict.accepted
    assert sent == [*range(0, result.stat().st_size, CHUNK), result.stat().st_size]

    site.wait_until_over(SLUG)
    answer = requests.get(f"{site.base(SLUG)}/adaptor?tur=2", timeout=PATIENCE_S)
    (row,) = site.status(SLUG)["gecmis"]
    assert hashlib.sha256(answer.content).hexdigest() == row["sha256"]
    (tmp_path / "next").write_bytes(answer.content)
    g = start - trained
    expected = start - (g + np.float32(0.5) * g)
    np.testing.assert_allclose(weights(tmp_path / "next"), expected, rtol=0, atol=1e-7)
