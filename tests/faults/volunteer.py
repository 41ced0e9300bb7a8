"""A volunteer that answers at once with what its task alone determines: no model, real protocol.

``python -m tests.faults.volunteer NAME FOLDER PAUSE_S URL...`` works until the run is over, at each
of the addresses in turn, and prints a line of JSON for each verdict. It keeps in FOLDER how many
requests it made, so that after SIGKILL it asks for the lease that it held.
"""

import hashlib
import json
import sys
import threading
import time
from pathlib import Path

import numpy as np

from tests.e2e.volunteer import Memory, silent, weights
from worker_client.client.coordinator import NoWork, RequestUsed, RunOver, ask, tell_progress
from worker_client.client.download import Download
from worker_client.client.faults import Final
from worker_client.client.link import Link
from worker_client.client.patience import Backoff, Patience
from worker_client.client.upload import Parcel, Upload
from worker_client.contract.formats import load_format
from worker_client.contract.tensors import build_header
from worker_client.contract.wire import LeaseRequest, Progress, Task, UploadState, Verdict

# No coordinator's wish is respected beyond this: tests wait for nobody.
LONGEST_WAIT_S = 0.3
# Several chunks, although the tiny format's result is smaller than the smallest chunk.
CHUNK_BYTES = 10_000


class Impatient(Backoff):
    """A back-off that never grows."""

    def __init__(self) -> None:
        super().__init__(Memory(), lambda low, high: LONGEST_WAIT_S / 3)

    def failed(self, retry_after: float = 0) -> None:
        super().failed(min(retry_after, LONGEST_WAIT_S))

    def wait_at_least(self, seconds: float) -> None:
        super().wait_at_least(min(seconds, LONGEST_WAIT_S))


class SmallChunks(Upload):
    def _announce(self, parcel: Parcel) -> UploadState | Verdict | None:
        state = super()._announce(parcel)
        if isinstance(state, UploadState):
            return state.model_copy(update={"chunk_bytes": CHUNK_BYTES})
        return state


class Volunteer:
    def __init__(self, name: str, folder: Path, pause_s: float, urls: list[str]) -> None:
        self._name, self._folder, self._pause_s = name, folder, pause_s
        self._links = [Link(url) for url in urls]
        self._patience = Patience(Impatient(), threading.Event())
        self._count = folder / "count"
        self._number = int(self._count.read_text()) if self._count.exists() else 0

    def work(self) -> None:
        """Task after task until the run is over."""
        while True:
            link = self._links[self._number % len(self._links)]
            try:
                self._work_once(link)
            except RunOver:
                return
            except RequestUsed:
                self._next()
            except Final as fault:
                tell(refused=fault.code or fault.detail)
                self._next()

    def _next(self) -> None:
        self._number += 1
        draft = self._count.with_suffix(".new")
        draft.write_text(str(self._number))
        draft.replace(self._count)

    def _work_once(self, link: Link) -> None:
        request_id = hashlib.sha256(f"{self._name}{self._number}".encode()).hexdigest()[:32]
        request = LeaseRequest(worker=self._name, request_id=request_id)
        task = self._patience.call(lambda: ask(link, request))
        if isinstance(task, NoWork):
            self._patience.backoff.wait_at_least(task.wait_s)
            return
        parcel = self._train(link, task)
        verdict = SmallChunks(link, self._patience, silent).deliver(parcel)
        tell(lease_id=verdict.lease_id, accepted=verdict.accepted)
        self._next()

    def _train(self, link: Link, task: Task) -> Parcel:
        """The result of ``task``, committed to: the same bytes for the same task."""
        snapshot = Download(link, self._patience, self._folder, silent).fetch(task.snapshot)
        time.sleep(self._pause_s)
        parcel = write_result(task, weights(snapshot), self._folder / "result")
        progress = Progress(lease_key=task.lease_key, step=task.inner_steps, digest=parcel.sha256)
        self._patience.call(lambda: tell_progress(link, task.lease_id, progress))
        return parcel


def write_result(task: Task, start: np.ndarray, path: Path) -> Parcel:
    fmt = load_format(task.format)
    draw = np.random.default_rng([task.round, task.shard])
    values = (start + 0.001 * draw.standard_normal(fmt.parameters)).astype("<f4")
    header = build_header((spec.name, "F32", spec.shape) for spec in fmt.tensors)
    body = header + values.tobytes()
    path.write_bytes(body)
    sha256 = hashlib.sha256(body).hexdigest()
    return Parcel(task.lease_id, task.lease_key, path, sha256, len(body))


def tell(**fields: object) -> None:
    print(json.dumps(fields), flush=True)


if __name__ == "__main__":
    name, folder, pause_s, *urls = sys.argv[1:]
    Path(folder).mkdir(parents=True, exist_ok=True)
    Volunteer(name, Path(folder), float(pause_s), urls).work()
