"""Merging rules beside Flower's and ByzFL's: seconds from files to the merged vector, and memory.

    python -m benchmarks.rules [--results 8 32 128] [--runs 3] [--peers PYTHON]

All read the same raw vectors of the Qwen format (40 MB each), each in a process of its own and in
turn, so that what else runs on the machine slows all of them. *Bare* is the rule alone; the
*pipeline* screens the results and clips their norms before. A peer that is not installed, or wants
more memory than there is, is NOT MEASURED.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psutil

from benchmarks.merge import FORMAT, MB, timed
from benchmarks.table import Bar, judge, print_table
from coordination.aggregation.lora import bias, pairs_of
from coordination.aggregation.merge import Contribution, MergePlan, aggregate, merge
from coordination.aggregation.passes import over_slices
from coordination.aggregation.rules import RULES
from coordination.aggregation.rules.distance import GeometricMedian
from coordination.aggregation.screen import Evidence, screen
from coordination.aggregation.sketch import Sketcher
from coordination.aggregation.sweep import kernel
from coordination.aggregation.vectors import VectorFile, as_bytes, slices

PEERS = Path(".venv/bench/bin/python")
SHARE = 0.125  # f = n / 8
PEAK_LIMIT_MB = 150
FLAT = 1.5  # peak memory at the most results to that at the fewest
BARS = {"mean": (4, 2), "median": (15, 10), "trimmed_mean": (15, 10), "multi_krum": (15, 10)}
JUDGED_AT = 32
AGREEMENT = 1e-6
FLOWER = {
    "mean": ["flower FedAvg"],
    "median": ["flower aggregate_median"],
    "trimmed_mean": ["flower aggregate_trimmed_avg"],
    "multi_krum": ["flower aggregate_krum", "flower MultiKrum"],
}
BYZFL = {
    "mean": ["byzfl Average"],
    "median": ["byzfl Median"],
    "trimmed_mean": ["byzfl TrMean"],
    "multi_krum": ["byzfl MultiKrum"],
    "geometric_median": ["byzfl GeometricMedian"],
}
# Peak memory as multiples of the results' own bytes, to know what not to start.
MEMORY_FACTORS = {"flower": 4.0, "byzfl": 5.5}


# --- input -------------------------------------------------------------------------------------


class Inputs:
    """Raw vectors ``0.f32`` ... of a folder, their start, and what intake measured of each."""

    def __init__(self, folder: Path, n: int) -> None:
        self.folder, self.n = folder, n
        self.start = self._vector("start.f32")
        self.vectors = [self._vector(f"{i}.f32") for i in range(n)]

    def _vector(self, name: str) -> VectorFile:
        return VectorFile(self.folder / name, 0, FORMAT.parameters)

    def write(self) -> None:
        """Honest results: a common direction and noise around the same start."""
        sizes = [spec.count for spec in FORMAT.tensors]
        (self.folder / "tensors.json").write_text(json.dumps(sizes))
        for number, vector in enumerate([self.start, *self.vectors]):
            if not vector.path.exists():
                self._write_one(number, vector)

    def _write_one(self, number: int, vector: VectorFile) -> None:
        base, own = np.random.default_rng(0), np.random.default_rng(number)
        sketcher, norm = Sketcher(b"benchmark"), 0.0
        with vector.path.open("wb") as file:
            for begin, end in slices(vector.count):
                start = 0.02 * base.standard_normal(end - begin, np.float32)
                update = 5e-4 + 1e-3 * own.standard_normal(end - begin, np.float32)
                sketcher.add(update)
                norm += float(update @ update)
                file.write(as_bytes(start + update if number else start))
            os.fsync(file.fileno())
        np.savez(vector.path.with_suffix(".npz"), norm=norm**0.5, sketch=sketcher.finish())

    def evidence(self) -> list[Evidence]:
        found = []
        for i, vector in enumerate(self.vectors):
            with np.load(vector.path.with_suffix(".npz")) as known:
                found.append(Evidence(float(known["norm"]), known["sketch"], str(i), i, 60.0))
        return found

    def contributions(self) -> list[Contribution]:
        return [Contribution(vector) for vector in self.vectors]

    def drop_from_cache(self) -> None:
        for vector in [self.start, *self.vectors]:
            with vector.path.open("rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


# --- what is measured, each in a process of its own ----------------------------------------------

Output = Callable[[memoryview], object]


def bare(rule: str) -> Callable[[Inputs, Output], None]:
    def run(inputs: Inputs, write: Output) -> None:
        chosen = RULES[rule]
        if rule == "geometric_median":  # as many steps as the peer takes
            chosen = GeometricMedian(rule, smoothing=1e-9, iterations=10, tolerance=0.0)
        aggregate(inputs.start, inputs.contributions(), MergePlan(chosen, SHARE), write)

    return run


def pipeline(rule: str) -> Callable[[Inputs, Output], None]:
    def run(inputs: Inputs, write: Output) -> None:
        plan = MergePlan(RULES[rule], SHARE, clip=True)
        aggregate(inputs.start, screened(inputs), plan, write)

    return run


def screened(inputs: Inputs) -> list[Contribution]:
    known = inputs.evidence()
    out = screen(known)
    vectors = enumerate(inputs.vectors)
    return [Contribution(vector, norm=known[i].norm) for i, vector in vectors if i not in out]


def reading(inputs: Inputs, write: Output) -> None:
    nothing = kernel(lambda loops, block, arguments: None, 0)
    for _ in over_slices([inputs.start, *inputs.vectors], lambda piece: piece.sweep(nothing)):
        pass


def screening(inputs: Inputs, write: Output) -> None:
    screen(inputs.evidence())


def intake(inputs: Inputs, write: Output) -> None:
    """Norm and sketch of every result, as the check of its file makes them."""
    for vector in inputs.vectors:
        sketcher = Sketcher(b"benchmark")

        def measure(begin: int, end: int, rows: np.ndarray, to: Sketcher = sketcher) -> None:
            delta = np.subtract(rows[1], rows[0], dtype=np.float64)
            np.einsum("i,i->", delta, delta)
            to.add(delta.astype(np.float32))

        buffer = np.empty((2, 131_072), np.float32)
        for begin, end in slices(vector.count):
            inputs.start.read(begin, end, buffer[0])
            vector.read(begin, end, buffer[1])
            measure(begin, end, buffer[:, : end - begin])


def lora_bias(inputs: Inputs, write: Output) -> None:
    bias(inputs.start, inputs.vectors, np.full(inputs.n, 1 / inputs.n), pairs_of(FORMAT))


def whole_merge(inputs: Inputs, write: Output) -> None:
    """Mean, outer step with momentum, LoRA bias; both outputs written to files."""
    plan = MergePlan(pairs=pairs_of(FORMAT))
    with tempfile.TemporaryFile(dir=inputs.folder) as momentum:
        merge(inputs.start, [inputs.start], inputs.contributions(), plan, write, [momentum.write])


def exact(inputs: Inputs, write: Output) -> None:
    plan = MergePlan(pairs=pairs_of(FORMAT), exact=True)
    aggregate(inputs.start, inputs.contributions(), plan, write)


EXACT, EXACT_AT_MOST = "exact LoRA products", 8  # a minute of linear algebra at 32
MEASURED_RULES = [name for name in RULES if name != "token_mean"]
OURS: dict[str, Callable[[Inputs, Output], None]] = {
    "merely reading": reading,
    **{f"bare {rule}": bare(rule) for rule in MEASURED_RULES},
    **{f"pipeline {rule}": pipeline(rule) for rule in MEASURED_RULES},
    "screens alone": screening,
    "intake: norms and sketches": intake,
    "LoRA bias": lora_bias,
    "mean, outer step, LoRA bias": whole_merge,
    EXACT: exact,
}


def measure(name: str, folder: Path, n: int) -> None:
    """The child's part: run once; print wall and processor seconds and peak memory in MB."""
    inputs = Inputs(folder, n)
    with (folder / f"{name}.out").open("wb") as out:
        cost = timed(lambda: OURS[name](inputs, out.write))
    unit = 1 if sys.platform == "darwin" else 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / MB
    print(json.dumps([*cost, peak]))


# --- running -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cost:
    """Medians of wall and processor seconds, the highest peak in MB; or why there are none."""

    wall: float = float("nan")
    cpu: float = float("nan")
    peak: float = float("nan")
    why_not: str = ""

    @classmethod
    def of(cls, found: list["Cost"]) -> "Cost":
        if failed := [cost for cost in found if cost.why_not]:
            return failed[0]
        wall, cpu = (float(np.median([getattr(c, x) for c in found])) for x in ("wall", "cpu"))
        return cls(wall, cpu, max(cost.peak for cost in found))


def in_a_fresh_process(name: str, inputs: Inputs, peers: Path) -> Cost:
    arguments = [str(inputs.folder), str(inputs.n)]
    command = [sys.executable, "-m", "benchmarks.rules", "--measure", name, *arguments]
    if name not in OURS:
        if why_not := _cannot_run(name, inputs.n, peers):
            return Cost(why_not=why_not)
        f = str(int(SHARE * inputs.n))
        command = [str(peers), str(Path(__file__).with_name("peers.py")), name, *arguments, f]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return Cost(why_not=(done.stderr.strip().splitlines() or ["it was killed"])[-1][:120])
    return Cost(*json.loads(done.stdout.strip().splitlines()[-1]))


def _cannot_run(name: str, n: int, peers: Path) -> str:
    if not peers.exists():
        return f"{peers} is missing; `make bench` sets it up"
    needed = MEMORY_FACTORS[name.split()[0]] * n * FORMAT.data_bytes
    free = psutil.virtual_memory().available
    return "" if needed < free else f"needs about {needed / 1e9:.0f} GB, {free / 1e9:.0f} are free"


def names_in_turn(n: int) -> list[str]:
    """What is compared stands side by side, so that both meet the same load of the machine."""
    in_turn = ["merely reading"]
    for rule in MEASURED_RULES:
        in_turn += [f"bare {rule}", f"pipeline {rule}", *FLOWER.get(rule, []), *BYZFL.get(rule, [])]
    rest = [name for name in OURS if name not in in_turn]
    return in_turn + [name for name in rest if name != EXACT or n <= EXACT_AT_MOST]


def run_all(inputs: Inputs, peers: Path, runs: int) -> dict[str, Cost]:
    names = names_in_turn(inputs.n)
    found: dict[str, list[Cost]] = {name: [] for name in names}
    for _ in range(runs):
        for name in names:
            if not any(cost.why_not for cost in found[name]):
                found[name].append(in_a_fresh_process(name, inputs, peers))
    return {name: Cost.of(costs) for name, costs in found.items()}


def run_cold(inputs: Inputs, peers: Path, runs: int) -> dict[str, Cost]:
    names = ("merely reading", "bare mean", "bare median", "bare multi_krum", "flower FedAvg")
    found: dict[str, list[Cost]] = {name: [] for name in names}
    for _ in range(runs):
        for name in names:
            inputs.drop_from_cache()
            found[name].append(in_a_fresh_process(name, inputs, peers))
    return {name: Cost.of(costs) for name, costs in found.items()}


# --- report --------------------------------------------------------------------------------------


def report(title: str, inputs: Inputs, costs: dict[str, Cost]) -> None:
    size, plain = inputs.n * FORMAT.data_bytes / MB, costs["merely reading"].wall
    rows = []
    for name, cost in costs.items():
        if cost.why_not:
            rows.append([name, "-", "-", "-", "-", "-"])
            print(f"NOT MEASURED  {name} of {inputs.n}: {cost.why_not}")
            continue
        numbers = (f"{cost.wall:.2f}", f"{cost.cpu:.2f}", f"{cost.wall / plain:.1f}")
        rows.append([name, *numbers, f"{size / cost.wall:,.0f}", f"{cost.peak:.0f}"])
    print_table(title, ["", "s", "cpu s", "s / reading", "MB/s", "peak MB"], rows)


def speed_bars(costs: dict[str, Cost]) -> list[Bar]:
    """Ours to the quicker of Flower's ways."""
    bars = []
    for rule, limits in BARS.items():
        walls = [costs[peer].wall for peer in FLOWER[rule] if not costs[peer].why_not]
        for kind, limit in zip(("bare", "pipeline"), limits, strict=True):
            if walls:
                ratio = costs[f"{kind} {rule}"].wall / min(walls)
                bars.append(
                    Bar(f"{kind} {rule} at {JUDGED_AT}", ratio, 1 / limit, "of Flower's time")
                )
            else:
                print(f"NOT MEASURED  {kind} {rule} at {JUDGED_AT}: Flower was not measured")
    return bars


def agreement_bars(inputs: Inputs, costs: dict[str, Cost]) -> list[Bar]:
    """How far our vectors are from ByzFL's, in L2 norms, beyond what storing float32 rounds."""
    bars = []
    for rule, (peer,) in BYZFL.items():
        if not costs[peer].why_not:
            apart = _apart(inputs, f"bare {rule}.out", f"{peer}.out")
            bars.append(Bar(f"{rule} of {inputs.n} from ByzFL's", apart, 1, "of 1e-6"))
    return bars


def _apart(inputs: Inputs, ours: str, theirs: str) -> float:
    """In slices: on Linux a child's peak memory starts from its parent's."""
    found = [VectorFile(inputs.folder / name, 0, FORMAT.parameters) for name in (ours, theirs)]
    apart = length = rounding = 0.0
    for begin, end in slices(FORMAT.parameters):
        a, b = (vector.read(begin, end).astype(np.float64) for vector in found)
        apart += float(np.square(a - b).sum())
        length += float(np.square(b).sum())
        steps = np.spacing(np.abs(inputs.start.read(begin, end))).astype(np.float64)
        rounding += float(np.square(steps).sum())
    return apart**0.5 / (AGREEMENT * length**0.5 + rounding**0.5)


def memory_bars(peaks: dict[int, float]) -> list[Bar]:
    most, fewest = max(peaks), min(peaks)
    bars = [Bar(f"peak memory at {n}", peak, PEAK_LIMIT_MB, "MB") for n, peak in peaks.items()]
    return [
        *bars,
        Bar(f"peak memory, {most} to {fewest}", peaks[most] / peaks[fewest], FLAT, "times"),
    ]


def run(folder: Path, counts: Sequence[int], runs: int, peers: Path) -> int:
    needed, free = (max(counts) + 8) * FORMAT.data_bytes, shutil.disk_usage(folder).free
    if free < needed:
        sys.exit(
            f"needs {needed / 1e9:.1f} GB in {folder}, {free / 1e9:.1f} are free: see --folder"
        )
    bars, peaks = [], {}
    with tempfile.TemporaryDirectory(dir=folder, prefix="rules-") as name:
        for n in sorted(counts):
            inputs = Inputs(Path(name), n)
            inputs.write()
            costs = run_all(inputs, peers, runs if n <= JUDGED_AT else 1)
            report(f"{n} results of {FORMAT.data_bytes / MB:.1f} MB, warm cache", inputs, costs)
            judged = [cost.peak for key, cost in costs.items() if key.startswith(("bare", "pipe"))]
            peaks[n] = max(judged)
            if n == JUDGED_AT:
                bars += speed_bars(costs) + agreement_bars(inputs, costs)
                report(f"{n} results, cold cache", inputs, run_cold(inputs, peers, runs))
        return judge(bars + memory_bars(peaks))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Merging rules beside Flower's and ByzFL's")
    parser.add_argument("--results", type=int, nargs="+", default=[8, 32, 128])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--peers", type=Path, default=PEERS)
    parser.add_argument("--measure", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.measure:
        name, folder, n = options.measure
        measure(name, Path(folder), int(n))
        return 0
    return run(options.folder, options.results, options.runs, options.peers)


if __name__ == "__main__":
    sys.exit(main())
