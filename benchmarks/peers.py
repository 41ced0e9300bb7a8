"""One aggregation by Flower or ByzFL, timed; ``benchmarks.rules`` runs it in their environment.

    PYTHON benchmarks/peers.py NAME FOLDER N F

Reads the float32 vectors ``0.f32`` to ``N-1.f32`` of FOLDER whole, as these libraries want them,
cut into the tensors that ``tensors.json`` names; prints wall and processor seconds for reading and
merging, and this process's peak memory in MB, and writes what was merged to ``FOLDER/NAME.out``.
What it takes to turn arrays into the library's own types is not counted.
"""

import json
import resource
import sys
import time
import types
from collections.abc import Callable
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

import numpy as np

Arrays = list[np.ndarray]
Prepared = Any
Run = Callable[[Prepared, int], np.ndarray]


def load(folder: Path, n: int) -> list[Arrays]:
    ends = np.cumsum(json.loads((folder / "tensors.json").read_text()))[:-1]
    return [np.split(np.fromfile(folder / f"{i}.f32", np.float32), ends) for i in range(n)]


def joined(arrays: Any) -> np.ndarray:
    return np.concatenate([np.ravel(array) for array in arrays])


def flower(name: str) -> tuple[Callable[[list[Arrays]], Prepared], Run]:
    from flwr.server.strategy import aggregate as legacy

    def prepare(results: list[Arrays]) -> Prepared:
        return [(arrays, 1) for arrays in results]

    def run(pairs: Prepared, f: int) -> np.ndarray:
        if name == "median":
            return joined(legacy.aggregate_median(pairs))
        if name == "trimmed_mean":
            return joined(legacy.aggregate_trimmed_avg(pairs, f / len(pairs)))
        return joined(legacy.aggregate_krum(pairs, f, len(pairs) - f))

    return prepare, run


def flower_current(name: str) -> tuple[Callable[[list[Arrays]], Prepared], Run]:
    """What FedAvg and MultiKrum of ``flwr.serverapp`` do with their replies' contents."""
    from flwr.app import Array, ArrayRecord, MetricRecord, RecordDict
    from flwr.serverapp.strategy.multikrum import select_multikrum
    from flwr.serverapp.strategy.strategy_utils import aggregate_arrayrecords

    def record(arrays: Arrays) -> RecordDict:
        content = ArrayRecord({str(i): Array(array) for i, array in enumerate(arrays)})
        return RecordDict({"arrays": content, "metrics": MetricRecord({"num-examples": 1})})

    def prepare(results: list[Arrays]) -> Prepared:
        return [record(arrays) for arrays in results]

    def run(records: Prepared, f: int) -> np.ndarray:
        if name == "multi_krum":
            records = select_multikrum(records, f, len(records) - f)
        merged = aggregate_arrayrecords(records, "num-examples")
        return joined([array.numpy() for array in merged.values()])

    return prepare, run


def byzfl(name: str) -> tuple[Callable[[list[Arrays]], Prepared], Run]:
    """Its aggregators alone: the package's own start wants torchvision."""
    found = PathFinder.find_spec("byzfl")
    if found is None or found.submodule_search_locations is None:
        raise ImportError("No module named 'byzfl'")
    package = types.ModuleType("byzfl")
    package.__path__ = list(found.submodule_search_locations)
    sys.modules["byzfl"] = package
    from byzfl.aggregators import aggregators

    def prepare(results: list[Arrays]) -> Prepared:
        return np.stack([joined(arrays) for arrays in results])

    def run(matrix: Prepared, f: int) -> np.ndarray:
        rule = {
            "mean": aggregators.Average,
            "median": aggregators.Median,
            "trimmed_mean": lambda: aggregators.TrMean(f),
            "multi_krum": lambda: aggregators.MultiKrum(f),
            "geometric_median": lambda: aggregators.GeometricMedian(1e-6, 10),
        }[name]()
        return rule(matrix)

    return prepare, run


Library = Callable[[str], tuple[Callable[[list[Arrays]], Prepared], Run]]
PEERS: dict[str, tuple[Library, str]] = {
    "flower FedAvg": (flower_current, "mean"),
    "flower aggregate_median": (flower, "median"),
    "flower aggregate_trimmed_avg": (flower, "trimmed_mean"),
    "flower aggregate_krum": (flower, "multi_krum"),
    "flower MultiKrum": (flower_current, "multi_krum"),
    "byzfl Average": (byzfl, "mean"),
    "byzfl Median": (byzfl, "median"),
    "byzfl TrMean": (byzfl, "trimmed_mean"),
    "byzfl MultiKrum": (byzfl, "multi_krum"),
    "byzfl GeometricMedian": (byzfl, "geometric_median"),
}


def timed(action: Callable[[], Any]) -> tuple[Any, tuple[float, float]]:
    wall, cpu = time.perf_counter(), time.process_time()
    found = action()
    return found, (time.perf_counter() - wall, time.process_time() - cpu)


def main(name: str, folder: Path, n: int, f: int) -> None:
    library, rule = PEERS[name]
    prepare, run = library(rule)
    results, reading = timed(lambda: load(folder, n))
    prepared = prepare(results)
    del results
    merged, merging = timed(lambda: run(prepared, f))
    took, cpu = np.add(reading, merging)
    merged.astype(np.float32).tofile(folder / f"{name}.out")
    unit = 1 if sys.platform == "darwin" else 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6
    print(json.dumps([took, cpu, peak]))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
