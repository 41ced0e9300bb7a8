"""A hundred thousand hostile files, messages, requests and answers, judged independently.

    python -m benchmarks.fuzz [--cases 100000] [--only NAME ...] [--first 0]

``--only "result reader" --first 1268 --cases 1`` plays one case again. Memory is counted from when
a target has played its first two hundred cases.
"""

import argparse
import logging
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from benchmarks.table import Bar, judge, print_table
from tests.fuzzing.running import Tally, Target, fuzz

MEMORY_MB = 64
BAR_CHARS = 30


@contextmanager
def results(folder: Path) -> Iterator[Target]:
    from tests.fuzzing.readers import ResultReader, Weights

    yield ResultReader(Weights(folder))


@contextmanager
def tiny_results(folder: Path) -> Iterator[Target]:
    from tests.fuzzing.readers import ResultReader, Weights
    from worker_client.contract.formats import load_format

    target = ResultReader(Weights(folder, load_format("tiny-qwen3-lora-r4")))
    target.name = "tiny-qwen3 results"
    yield target


@contextmanager
def deltas(folder: Path) -> Iterator[Target]:
    from tests.fuzzing.readers import DeltaReader, Weights, odd_format

    yield DeltaReader(Weights(folder, odd_format()))


@contextmanager
def updates(folder: Path) -> Iterator[Target]:
    from tests.fuzzing.readers import Updates, Weights, odd_format

    yield Updates(Weights(folder, odd_format()))


@contextmanager
def snapshots(folder: Path) -> Iterator[Target]:
    from tests.fuzzing.readers import SnapshotReader, Weights

    yield SnapshotReader(Weights(folder))


@contextmanager
def candidates(folder: Path) -> Iterator[Target]:
    from tests.fuzzing.readers import CandidateReader, Weights, odd_format

    yield CandidateReader(Weights(folder, odd_format()))


@contextmanager
def messages(folder: Path) -> Iterator[Target]:
    from tests.fuzzing.wires import Wires

    yield Wires()


@contextmanager
def endpoints(folder: Path) -> Iterator[Target]:
    """Django with a database of its own."""
    os.environ |= {
        "DJANGO_SETTINGS_MODULE": "modelen_site.settings",
        "MODELEN_VAR": str(folder / "var"),
        "MODELEN_DISK_RESERVE_BYTES": "0",
        "MODELEN_LOG_LEVEL": "CRITICAL",
    }
    import django
    from django.core.management import call_command
    from django.db import connection
    from django.test.utils import setup_test_environment

    django.setup()
    setup_test_environment()
    call_command("migrate", verbosity=0)
    from tests.fuzzing.endpoints import Endpoints

    yield Endpoints(folder)
    connection.close()


@contextmanager
def client(folder: Path) -> Iterator[Target]:
    from tests.fuzzing.hostile import Client, lying

    with lying() as liar:
        yield Client(liar, folder)


@contextmanager
def server(folder: Path) -> Iterator[Target]:
    from tests.fuzzing.raw import served

    with served(folder) as target:
        yield target


# How many of a hundred cases each target gets: the cheap ones many.
TARGETS: dict[str, tuple[int, Callable[[Path], AbstractContextManager[Target]]]] = {
    "result reader": (29, results),
    "tiny-qwen3 results": (2, tiny_results),
    "encoded results": (6, deltas),
    "updates": (4, updates),
    "snapshot reader": (10, snapshots),
    "candidates": (4, candidates),
    "messages": (26, messages),
    "endpoints": (10, endpoints),
    "client": (8, client),
    "server": (1, server),
}


def show_progress(name: str, done: int, cases: int, since: float) -> None:
    if not sys.stderr.isatty() or (done % 50 and done < cases):
        return
    full = BAR_CHARS * done // cases
    left = (time.monotonic() - since) / done * (cases - done)
    bar = "#" * full + "." * (BAR_CHARS - full)
    line = f"\r{name:<20} [{bar}] {done}/{cases}, {left:4.0f} s left"
    print(line, end="" if done < cases else "\n", file=sys.stderr, flush=True)


def play(name: str, cases: int, first: int) -> Tally:
    make = TARGETS[name][1]
    memory = Path("/dev/shm")
    place = memory if memory.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="fuzz-", dir=place) as folder:
        with make(Path(folder)) as target:
            since = time.monotonic()
            return fuzz(target, cases, first, lambda n: show_progress(name, n, cases, since))


def show(tallies: list[Tally]) -> None:
    columns = ["target", "cases", "accepted", "refused", "wrong", "crashed", "memory growth"]
    rows = []
    for tally in tallies:
        taken = sum(n for what, n in tally.outcomes.items() if is_taken(what))
        refused = tally.cases - taken - tally.wrongs - tally.crashes
        counts = [tally.cases, taken, refused, tally.wrongs, tally.crashes]
        growth = f"{tally.growth_bytes / 2**20:.1f} MB"
        rows.append([tally.target, *map(str, counts), growth])
    print_table("Hostile input", columns, rows)
    for tally in tallies:
        told = ", ".join(f"{what} {count}" for what, count in tally.outcomes.most_common(12))
        print(f"\n{tally.target}: {told}")
    print("".join(f"\n{what}" for tally in tallies for what in tally.wrong))


def is_taken(outcome: str) -> bool:
    words = ("accepted", "taken", "task", "about", "progress", "fate", "file", "verdict")
    return (
        outcome in words
        or outcome.startswith(("accepted", "registered", "receipts"))
        or outcome.endswith((" 200", " 201", " 204", " 206"))
    )


def bars(tallies: list[Tally]) -> list[Bar]:
    growth = max((tally.growth_bytes for tally in tallies), default=0)
    return [
        Bar("hostile input judged wrongly", sum(t.wrongs for t in tallies), 0, "cases"),
        Bar("crashes by hostile input", sum(t.crashes for t in tallies), 0, "cases"),
        Bar("memory growth under hostile input", growth / 2**20, MEMORY_MB, "MB"),
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Hostile input, judged independently")
    parser.add_argument("--cases", type=int, default=100_000, help="of all targets together")
    parser.add_argument("--first", type=int, default=0, help="number of each target's first case")
    parser.add_argument("--only", nargs="+", choices=TARGETS, default=list(TARGETS))
    options = parser.parse_args(arguments)
    logging.disable(logging.ERROR)
    shares = sum(TARGETS[name][0] for name in options.only)
    tallies = []
    for name in options.only:
        tallies.append(
            play(name, max(1, options.cases * TARGETS[name][0] // shares), options.first)
        )
        print(f"{name}: {tallies[-1].cases} cases", flush=True)
    show(tallies)
    return judge(bars(tallies))


if __name__ == "__main__":
    sys.exit(main())
