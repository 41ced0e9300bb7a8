"""Memory of the server while workers download and upload Qwen-format files all at once.

    python -m benchmarks.server_memory [--workers 8] [--slow-bytes-per-s 1000000]

The server is ``manage.py serve``: Daphne with Celery's thread. The workers are processes that
lease, download and upload with the worker's own client code and do not train: their result is the
snapshot moved a little. One of them has a slow line. Memory is sampled twenty times a second.
"""

import argparse
import multiprocessing
import sys
import tempfile
import threading
import time
from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass, field
from multiprocessing.synchronize import Barrier
from pathlib import Path

import numpy as np
import psutil
import requests

from benchmarks.table import Bar, judge, print_table
from benchmarks.throttle import throttled
from tests.e2e.site import Site
from tests.e2e.volunteer import Volunteer, weights, write_result
from worker_client.contract.formats import load_format

FORMAT = load_format("qwen3-0.6b-lora-r16")
SLUG = "qwen"
LIMIT_MIB = 64
MIB = 2**20
SAMPLE_S = 0.05
SETTLE_S = 3.0
DELIVERED = "delivered"


# --- one worker ------------------------------------------------------------------------------


def work(base_url: str, number: int, folder: Path, together: Barrier) -> None:
    """One worker process: downloads together with all others, and uploads as soon as it can.

    Nobody waits for the slow one between the two.
    """
    folder.mkdir()
    volunteer = Volunteer(base_url, f"worker-{number}", folder)
    task = volunteer.lease()
    together.wait()
    start = weights(volunteer.download(task.snapshot))
    moved = start + np.float32(1e-4) * np.random.default_rng(number).standard_normal(
        start.size, np.float32
    )
    volunteer.deliver(task, write_result(folder / "result", FORMAT, moved, shuffle=number))
    (folder / DELIVERED).touch()


# --- the server's memory -----------------------------------------------------------------------


@dataclass
class Samples:
    """Resident and anonymous bytes of a process, taken until ``stop``."""

    process: psutil.Process
    times: list[float] = field(default_factory=list)
    resident: list[int] = field(default_factory=list)
    anonymous: list[int] = field(default_factory=list)
    _over: threading.Event = field(default_factory=threading.Event)

    def start(self) -> None:
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self._thread.start()

    def _sample(self) -> None:
        while not self._over.wait(SAMPLE_S):
            self.take()

    def take(self) -> None:
        memory = self.process.memory_info()
        self.times.append(time.time())
        self.resident.append(memory.rss)
        self.anonymous.append(memory.rss - memory.shared)

    def stop(self) -> None:
        self._over.set()
        self._thread.join()

    def cut(self, at: float) -> tuple["Samples", "Samples"]:
        """Those of before a time, and the others."""
        n = bisect(self.times, at)
        return self._part(slice(n)), self._part(slice(n, None))

    def _part(self, part: slice) -> "Samples":
        return Samples(self.process, self.times[part], self.resident[part], self.anonymous[part])


def sampled_while_idle(process: psutil.Process) -> Samples:
    samples = Samples(process)
    samples.start()
    time.sleep(SETTLE_S)
    samples.stop()
    return samples


def warm_up(site: Site) -> None:
    """What every site has served by the time its volunteers come: pages and small answers."""
    for path in ("", "/bilgi", "/durum"):
        for _ in range(5):
            requests.get(site.base(SLUG) + path, timeout=60).raise_for_status()


def transfer_all(site: Site, workers: int, slow_port: int) -> list[int]:
    """Run all workers, the first over the slow line; their exit statuses."""
    context = multiprocessing.get_context("spawn")
    together = context.Barrier(workers)
    ports = [slow_port, *[site.port] * (workers - 1)]
    processes = [
        context.Process(
            target=work,
            args=(f"http://127.0.0.1:{port}/c/{SLUG}", number, site.folder / str(number), together),
        )
        for number, port in enumerate(ports)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    return [process.exitcode or 0 for process in processes]


# --- report --------------------------------------------------------------------------------------


def measure(site: Site, workers: int, slow: int) -> tuple[Samples, Samples, Samples]:
    """Memory when idle, until the last worker has its answer, and during the merge after that."""
    site.make_run(
        SLUG,
        format=FORMAT.id,
        rounds=1,
        shards=workers,
        chunk_bytes=MIB,
        max_leases_per_address=workers,
        max_unregistered_per_address=workers,
        lease_seconds=600,
    )
    server = psutil.Process(site.start().process.pid)
    warm_up(site)
    idle, rest = sampled_while_idle(server), Samples(server)
    with throttled(site.port, slow) as slow_port:
        rest.start()
        exits = transfer_all(site, workers, slow_port)
    if any(exits):
        rest.stop()
        sys.exit(f"a worker failed, so nothing was measured: exit statuses {exits}")
    site.wait_until_over(SLUG)
    rest.stop()
    delivered = (site.folder / str(number) / DELIVERED for number in range(workers))
    return idle, *rest.cut(max(path.stat().st_mtime for path in delivered))


def report(idle: Samples, busy: Samples, merging: Samples, workers: int) -> list[Bar]:
    base_all, base_own = max(idle.resident), max(idle.anonymous)
    rows = []
    for name, samples in (("idle", idle), (f"{workers} transfers", busy), ("merge", merging)):
        resident, own = max(samples.resident), max(samples.anonymous)
        numbers = (resident, resident - base_all, own, own - base_own)
        cells = [f"{number / MIB:.1f}" for number in numbers]
        rows.append([name, *cells, str(len(samples.resident))])
    columns = ["peak MiB", "resident", "above idle", "anonymous", "above idle", "samples"]
    size = FORMAT.data_bytes / 1e6
    print_table(f"Server memory, {workers} workers, {size:.1f} MB each way", columns, rows)
    above = (max(busy.resident) - base_all) / MIB
    return [Bar("server memory above idle", above, LIMIT_MIB, "MiB")]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Memory of the server under whole-file transfers")
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--slow-bytes-per-s", type=int, default=1_000_000)
    options = parser.parse_args(arguments)
    workers, slow = options.workers, options.slow_bytes_per_s
    with tempfile.TemporaryDirectory(prefix="memory-") as folder, Site(Path(folder)) as site:
        return judge(report(*measure(site, workers, slow), workers))


if __name__ == "__main__":
    sys.exit(main())
