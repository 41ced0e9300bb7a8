"""How fast deltas are encoded and decoded beside a plain copy of their memory:
``python -m benchmarks.codecs``.

One core, float32 values of an adapter's number, chunk by chunk as worker and coordinator do it.
Copy, encoding and decoding take turns, so that all see the same machine.
"""

import argparse
import sys
import time
from collections.abc import Callable
from statistics import median

import numpy as np

from benchmarks.table import Bar, judge, print_table
from worker_client.contract.encodings import CHUNK, CODECS, Codec, encoded_bytes
from worker_client.contract.encodings.delta import delta_file

VALUES = 10_092_544  # of a rank 16 adapter of Qwen3-0.6B
SCALE = 1e-3
# What each takes as its layout has it: scales per block, levels, positions and signs per group.
BYTES_A_VALUE = {"bf16": 2, "int8": 1 + 4 / 256, "int4": 0.5 + 4 / 128, "topk": 120 / 4096}
COPIES = 3  # a third of a copy's speed; topk is stated only
TIMED = ("bf16", "int8", "int4")


def seconds(do: Callable[[], object]) -> float:
    started = time.perf_counter()
    do()
    return time.perf_counter() - started


class Case:
    """One codec's work on all of ``values``."""

    def __init__(self, codec: Codec, values: np.ndarray) -> None:
        self.codec, self.values, self.out = codec, values, np.empty_like(values)
        self.chunks = [slice(begin, begin + CHUNK) for begin in range(0, len(values), CHUNK)]
        self.encoded = [codec.encode(values[chunk]) for chunk in self.chunks]
        self.took: dict[str, list[float]] = {"copy": [], "encode": [], "decode": []}

    def run(self) -> None:
        for name, do in (("copy", self.copy), ("encode", self.encode), ("decode", self.decode)):
            self.took[name].append(seconds(do))

    def copy(self) -> None:
        np.copyto(self.out, self.values)

    def encode(self) -> None:
        """Each chunk is gone before the next, as when a file is written."""
        for chunk in self.chunks:
            self.codec.encode(self.values[chunk])

    def decode(self) -> None:
        for chunk, data in zip(self.chunks, self.encoded, strict=True):
            self.codec.decode(data, self.out[chunk])

    def in_copies(self, name: str) -> float:
        """Median time as a multiple of the copy's in the same turn."""
        return median(t / c for t, c in zip(self.took[name], self.took["copy"], strict=True))

    def file_bytes(self) -> int:
        chunks = (self.values[chunk] for chunk in self.chunks)
        return sum(map(len, delta_file(self.codec, len(self.values), chunks, {})))

    @property
    def error(self) -> float:
        """Root of the mean squared error over that of the values."""
        self.decode()
        difference = (self.out - self.values).astype(np.float64)
        return float(np.linalg.norm(difference) / np.linalg.norm(self.values.astype(np.float64)))


def row(case: Case) -> list[str]:
    size = case.file_bytes()
    speed = 4e-9 * len(case.values) / median(case.took["copy"])
    return [
        case.codec.id,
        f"{size / len(case.values):.4f}",
        f"{4 * len(case.values) / size:.1f}",
        f"{speed:.1f}",
        f"{case.in_copies('encode'):.2f}",
        f"{case.in_copies('decode'):.2f}",
        f"{100 * case.error:.2f}",
    ]


def bars(case: Case) -> list[Bar]:
    arithmetic = BYTES_A_VALUE[case.codec.id] * len(case.values)
    off = abs(case.file_bytes() - arithmetic) / arithmetic
    found = [Bar(f"{case.codec.id}, file against its arithmetic", 100 * off, 3, "% off")]
    assert encoded_bytes(case.codec, len(case.values)) <= case.file_bytes()
    if case.codec.id in TIMED:
        found += [
            Bar(f"{case.codec.id}, {name}", case.in_copies(name), COPIES, "copies")
            for name in ("encode", "decode")
        ]
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description="Encodings of deltas beside a copy of memory")
    parser.add_argument("--values", type=int, default=VALUES, help=f"how many (default {VALUES:,})")
    parser.add_argument("--turns", type=int, default=9, help="how often each is timed (default 9)")
    options = parser.parse_args()
    draw = np.random.default_rng(0)
    values = (SCALE * draw.standard_normal(options.values)).astype(np.float32)
    cases = [Case(codec, values) for codec in CODECS.values()]
    for _ in range(options.turns):
        for case in cases:
            case.run()
    columns = ["encoding", "bytes a value", "times smaller", "copy, GB/s", "encode, copies"]
    columns += ["decode, copies", "error, %"]
    print_table(f"{options.values:,} values, one core", columns, [row(case) for case in cases])
    return judge([bar for case in cases for bar in bars(case)])


if __name__ == "__main__":
    sys.exit(main())
