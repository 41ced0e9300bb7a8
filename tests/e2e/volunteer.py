"""A volunteer who speaks the protocol with the worker's own client code and does not train."""

import hashlib
import secrets
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np

from worker_client.client.coordinator import ask
from worker_client.client.download import Download
from worker_client.client.link import Link
from worker_client.client.patience import Backoff, BackoffRecord, Patience
from worker_client.client.upload import Parcel, Upload
from worker_client.contract.formats import Format
from worker_client.contract.tensors import build_header, read_header
from worker_client.contract.wire import FileRef, LeaseRequest, Task, Verdict

Report = Callable[[int, int], None]


class Memory:
    """A back-off's record without a disk."""

    def __init__(self) -> None:
        self._record = BackoffRecord()

    def load_backoff(self) -> BackoffRecord:
        return self._record

    def save_backoff(self, record: BackoffRecord) -> None:
        self._record = record


def silent(done: int, total: int) -> None:
    """Nobody watches the transfer."""


class Volunteer:
    """Leases, downloads and delivers at ``base_url``; files lie in ``folder``."""

    def __init__(self, base_url: str, name: str, folder: Path) -> None:
        self.link = Link(base_url)
        self.patience = Patience(Backoff(Memory()), threading.Event())
        self.name, self.folder = name, folder

    def lease(self) -> Task:
        request = LeaseRequest(worker=self.name, request_id=secrets.token_hex(16))
        task = self.patience.call(lambda: ask(self.link, request))
        assert isinstance(task, Task), f"no work for {self.name}"
        return task

    def download(self, file: FileRef, report: Report = silent) -> Path:
        return Download(self.link, self.patience, self.folder, report).fetch(file)

    def deliver(self, task: Task, file: Path, report: Report = silent) -> Verdict:
        with file.open("rb") as opened:
            sha256 = hashlib.file_digest(opened, "sha256").hexdigest()
        parcel = Parcel(task.lease_id, task.lease_key, file, sha256, file.stat().st_size)
        return Upload(self.link, self.patience, report).deliver(parcel)


def weights(snapshot: Path) -> np.ndarray:
    """The float32 vector of a file in manifest order."""
    with snapshot.open("rb") as file:
        file.seek(read_header(file, snapshot.stat().st_size).data_start)
        return np.frombuffer(file.read(), "<f4")


def write_result(out: Path, fmt: Format, values: np.ndarray, shuffle: int) -> Path:
    """A result file of ``values`` (in manifest order) whose tensors lie in another order."""
    ends = np.cumsum([spec.count for spec in fmt.tensors])
    order = np.random.default_rng(shuffle).permutation(len(fmt.tensors))
    specs = [fmt.tensors[i] for i in order]
    with out.open("wb") as file:
        file.write(build_header([(s.name, "F32", s.shape) for s in specs], {"format": "pt"}))
        for i in order:
            file.write(values[ends[i] - fmt.tensors[i].count : ends[i]].tobytes())
    return out
