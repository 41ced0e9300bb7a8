"""Fixtures for the volunteer's program: a loopback coordinator and a client without waits."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.worker_client.little_coordinator import LittleCoordinator, serving
from worker_client.client.link import Link
from worker_client.client.patience import Backoff, BackoffRecord, Patience


class MemoryStore:
    """A back-off's store without a disk."""

    def __init__(self, record: BackoffRecord | None = None) -> None:
        self.record = record or BackoffRecord()

    def load_backoff(self) -> BackoffRecord:
        return self.record

    def save_backoff(self, record: BackoffRecord) -> None:
        self.record = record


def impatient(stop: threading.Event | None = None, told: list | None = None) -> Patience:
    """Back-off whose jitter always draws next to nothing."""
    heard = [] if told is None else told
    backoff = Backoff(MemoryStore(), draw=lambda low, high: 0.001)
    return Patience(backoff, stop or threading.Event(), lambda *args: heard.append(args))


@pytest.fixture
def server() -> Iterator[LittleCoordinator]:
    with serving(LittleCoordinator()) as coordinator:
        yield coordinator


@pytest.fixture
def link(server: LittleCoordinator) -> Iterator[Link]:
    link = Link(server.url)
    yield link
    link.close()


@pytest.fixture
def patience() -> Patience:
    return impatient()


@pytest.fixture(scope="session")
def tiny_models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A models folder that has the tiny model."""
    from worker_client.contract.formats import load_adapter_format
    from worker_client.models.fetch import fetch
    from worker_client.models.store import ModelStore

    root = tmp_path_factory.mktemp("models")
    fetch(load_adapter_format("tiny-qwen3-lora-r4"), ModelStore(root))
    return root


Report = Callable[[int, int], None]


def no_report(done: int, total: int) -> None:
    """Nobody looks at the progress."""
