"""Taking in and merging a round of Qwen-format results: time and peak memory.

    python -m benchmarks.merge [--results 32] [--runs 3] [--folder DIR]

Every result is a real safetensors file with its tensors in an order of its own. It goes through
`check_result` into a blob store, and the merge reads the blobs. Each measurement of
the merge runs in a fresh process, with the files in the page cache.
"""

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from benchmarks.table import Bar, judge, print_table
from coordination.aggregation.check import check_result
from coordination.aggregation.merge import Contribution, MergePlan, merge
from coordination.aggregation.screen import screen_norms
from coordination.aggregation.vectors import SLICE_FLOATS, VectorFile, as_bytes, slices
from coordination.store.local import BlobStore
from worker_client.contract.formats import load_format
from worker_client.contract.tensors import build_header

FORMAT = load_format("qwen3-0.6b-lora-r16")
PEAK_LIMIT_MB = 300
MB = 1_000_000
NO_LIMIT = float("inf")

Cost = tuple[float, float]


def timed(action: Callable[[], object]) -> Cost:
    """Wall and processor seconds of a call; the latter vary less on a machine with others on it."""
    wall, cpu = time.perf_counter(), time.process_time()
    action()
    return time.perf_counter() - wall, time.process_time() - cpu


# --- input -------------------------------------------------------------------------------------


def write_result(path: Path, seed: int) -> None:
    """A safetensors file in shuffled order; tensor by tensor, so that this process stays small
    (on Linux a child's peak memory starts from its parent's)."""
    rng = np.random.default_rng(seed)
    specs = [FORMAT.tensors[i] for i in rng.permutation(len(FORMAT.tensors))]
    with path.open("wb") as file:
        file.write(build_header([(s.name, "F32", s.shape) for s in specs], {"format": "pt"}))
        for spec in specs:
            file.write(as_bytes(rng.standard_normal(spec.count, np.float32)))


class Inputs:
    """The folder of one benchmark: a blob store, the start vector and the accepted results."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = BlobStore(folder / "blobs")
        self.index = folder / "results.json"
        self.start = VectorFile(folder / "start", 0, FORMAT.parameters)

    def write_start(self) -> None:
        with self.start.path.open("wb") as file:
            for begin, end in slices(FORMAT.parameters):
                file.write(bytes(4 * (end - begin)))

    def vectors(self) -> list[VectorFile]:
        digests = [digest for digest, _ in json.loads(self.index.read_text())]
        return [VectorFile(self.store.path(d), 0, FORMAT.parameters) for d in digests]

    def norms(self) -> list[float]:
        return [norm for _, norm in json.loads(self.index.read_text())]


def take_in(inputs: Inputs, results: int) -> tuple[list[Cost], list[Cost]]:
    """Check every result twice, into nothing and into the store: what each cost."""
    file = inputs.folder / "upload"
    accepted: list[tuple[str, float]] = []

    def check_alone() -> None:
        with Path("/dev/null").open("wb") as null:
            check_result(file, FORMAT, inputs.start, NO_LIMIT, null, b"key")

    def check_and_store() -> None:
        with inputs.store.new_file() as writer:
            checked = check_result(file, FORMAT, inputs.start, NO_LIMIT, writer, b"key")
            accepted.append((writer.seal().sha256, checked.delta_norm))

    alone, stored = [], []
    for seed in range(results):
        write_result(file, seed)
        alone.append(timed(check_alone))
        stored.append(timed(check_and_store))
    file.unlink()
    inputs.index.write_text(json.dumps(accepted))
    return alone, stored


# --- what is measured, each in a process of its own ----------------------------------------------


def only_read(inputs: Inputs) -> None:
    buffer = np.empty(SLICE_FLOATS, np.float32)
    vectors = inputs.vectors()
    for begin, end in slices(FORMAT.parameters):
        for vector in vectors:
            vector.read(begin, end, buffer)


def numpy_mean(inputs: Inputs) -> None:
    np.mean(np.stack([np.fromfile(v.path, np.float32) for v in inputs.vectors()]), axis=0)


def our_merge(inputs: Inputs) -> None:
    """All that a round's merge does with bytes: screen, mean, outer step, two new blobs."""
    out = set(screen_norms(inputs.norms()))
    kept = [Contribution(vector) for i, vector in enumerate(inputs.vectors()) if i not in out]
    header = build_header([(s.name, "F32", s.shape) for s in FORMAT.tensors], {"format": "pt"})
    with inputs.store.new_file() as snapshot, inputs.store.new_file() as momentum:
        snapshot.write(header)
        merge(inputs.start, [inputs.start], kept, MergePlan(), snapshot.write, [momentum.write])
        snapshot.seal()
        momentum.seal()


MEASURED: dict[str, Callable[[Inputs], None]] = {
    "merely reading": only_read,
    "numpy mean in memory": numpy_mean,
    "our merge": our_merge,
}


def measure(name: str, folder: Path) -> None:
    """The child's part: run once, print what it cost and this process's peak memory in MB."""
    cost = timed(lambda: MEASURED[name](Inputs(folder)))
    unit = 1 if sys.platform == "darwin" else 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / MB
    print(json.dumps([*cost, peak]))


def in_a_fresh_process(name: str, folder: Path) -> tuple[float, float, float]:
    command = [sys.executable, "-m", "benchmarks.merge", "--measure", name, "--folder", str(folder)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    wall, cpu, peak = json.loads(done.stdout)
    return wall, cpu, peak


# --- report --------------------------------------------------------------------------------------


def demand_space(folder: Path, results: int) -> None:
    # The accepted vectors, the start, one upload, and two outputs beside their predecessors.
    needed, free = (results + 6) * FORMAT.data_bytes, shutil.disk_usage(folder).free
    print(f"needs {needed / MB:,.0f} MB in {folder}, {free / MB:,.0f} MB are free")
    if free < needed:
        sys.exit("not enough: name another folder with --folder, or fewer --results")


def report_intake(alone: list[Cost], stored: list[Cost]) -> None:
    size = FORMAT.data_bytes / MB
    rows = []
    for name, costs in (("check alone", alone), ("check, hash, store, fsync", stored)):
        wall, cpu = np.median(costs, axis=0)
        rows.append([name, f"{1000 * wall:.0f}", f"{1000 * cpu:.0f}", f"{size / wall:,.0f}"])
    title = f"Taking in a shuffled result of {size:.1f} MB, median of {len(alone)}"
    print_table(title, ["", "ms", "cpu ms", "MB/s"], rows)


def report_merge(inputs: Inputs, results: int, runs: int) -> list[Bar]:
    found: dict[str, list[tuple[float, float, float]]] = {name: [] for name in MEASURED}
    for _ in range(runs):  # in turn, so that what else runs here slows all of them
        for name in MEASURED:
            found[name].append(in_a_fresh_process(name, inputs.folder))
    costs = {name: np.median(found[name], axis=0)[:2] for name in MEASURED}
    peaks = {name: max(peak for *_, peak in found[name]) for name in MEASURED}
    rows = []
    for name, cost in costs.items():
        numbers = (cost, cost / costs["merely reading"], cost / costs["numpy mean in memory"])
        rows.append([name, *(f"{n:.2f}" for n in np.concatenate(numbers)), f"{peaks[name]:.0f}"])
    title = f"Merging {results} results of {FORMAT.data_bytes / MB:.1f} MB, median of {runs}"
    columns = ["", "s", "cpu s", "s / reading", "cpu", "s / numpy", "cpu", "peak MB"]
    print_table(title, columns, rows)
    return [Bar("merge, peak memory", peaks["our merge"], PEAK_LIMIT_MB, "MB")]


def run(folder: Path, results: int, runs: int) -> int:
    demand_space(folder, results)
    with tempfile.TemporaryDirectory(dir=folder, prefix="merge-") as name:
        inputs = Inputs(Path(name))
        inputs.write_start()
        report_intake(*take_in(inputs, results))
        return judge(report_merge(inputs, results, runs))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Time and peak memory of intake and merge")
    parser.add_argument("--results", type=int, default=32)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--measure", choices=MEASURED, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.measure:
        measure(options.measure, options.folder)
        return 0
    return run(options.folder, options.results, options.runs)


if __name__ == "__main__":
    sys.exit(main())
