"""Models from scratch of every size through a whole swarm on the processor: text to snapshot.

    python -m benchmarks.sizes [--sizes s,m,l] [--texts var/scratch/texts] [--threads 2] [--write]

The first megabytes of each language that ``python -m benchmarks.scratch_text`` fetched go through
the four steps of ``manage.py corpus``: a tokenizer of 49,152 tokens, rows of 128. Then each size
has a server process of its own and a volunteer, who sends results as ``int8``; nobody verifies.
scratch-s trains 200 steps in 4 rounds, scratch-m 4 in one and scratch-l 2 in one. Memory is
what processes hold without mapped files, the volunteer's with its training process.
"""

import argparse
import hashlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from math import isfinite, nan
from pathlib import Path
from typing import Any

import requests

from benchmarks.memory import MIB, Peak
from benchmarks.scratch_text import FOLDER
from benchmarks.table import Bar, judge, print_table
from tests.e2e.site import PATIENCE_S, Program, Site, WorkerProcess
from worker_client.contract.formats import load_format
from worker_client.corpus.workspace import write

RESULTS = Path(__file__).parent / "results" / "sizes.json"
MB = 10**6
MOST_TEXT = 2 * MB
SEQ, BATCH = 128, 2
# One step of a large model, and a file of 2 GB on a slow disk.
LONGEST_S = 3600.0
SETTLE_S, SAMPLE_S = 3.0, 0.2
LAST_STEPS = 10
LEAST_FALL_NATS = 2.0
SERVER_LIMIT_MIB = 64


@dataclass(frozen=True)
class Size:
    format: str
    rounds: int
    inner_steps: int
    lr: float

    @property
    def snapshots(self) -> range:
        """The numbers of those that training makes."""
        return range(2, self.rounds + 2)


SIZES = {
    "s": Size("scratch-s", rounds=4, inner_steps=50, lr=1e-3),
    "m": Size("scratch-m", rounds=1, inner_steps=4, lr=3e-4),
    "l": Size("scratch-l", rounds=1, inner_steps=2, lr=2e-4),
}


@dataclass(frozen=True)
class Outcome:
    """``loss_last`` is the mean of the last ten steps, or of the last where they are fewer than
    twenty. ``published``: snapshots of which the server sent every byte, and whose round has a
    finite loss."""

    format: str
    parameters: int
    steps: int
    tokens: int
    loss_first: float
    loss_last: float
    wall_s: float
    train_s: float
    bytes_down: int
    bytes_up: int
    worker_bytes: int
    server_bytes: int
    server_idle_bytes: int
    published: int


# --- text ----------------------------------------------------------------------------------------


def make_shards(site: Site, texts: Sequence[Path], folder: Path) -> Path:
    """The folder that ``create_run --data`` takes: one shard, and no text held out."""
    articles, corpus, shards = folder / "articles", folder / "corpus", folder / "shards"
    articles.mkdir()
    for path in texts:
        write(articles / path.name, first_lines(path, MOST_TEXT))
    steps: tuple[tuple[str | Path, ...], ...] = (
        ("ingest", corpus, articles),
        ("tokenizer", corpus, "--held-out", "0"),
        ("pack", corpus, "--held-out", "0", "--seq", str(SEQ), "--format", "scratch-s"),
        ("shard", corpus, "--shards", "1", "--out", shards),
    )
    for words in steps:
        started = time.monotonic()
        site.manage("corpus", *map(str, words), seconds=LONGEST_S)
        print(f"corpus {words[0]}: {time.monotonic() - started:.1f} s", flush=True)
    return shards


def first_lines(path: Path, most: int) -> Iterator[bytes]:
    """Whole lines of together at most so many bytes."""
    with path.open("rb") as file:
        for line in file:
            most -= len(line)
            if most < 0:
                return
            yield line


# --- one size ------------------------------------------------------------------------------------


def train(size: Size, shards: Path, folder: Path, threads: int) -> Outcome:
    with Site(folder) as site:
        create(site, size, shards)
        server = site.start()
        started = time.monotonic()
        with Peak(server.process.pid, SAMPLE_S) as idle:
            time.sleep(SETTLE_S)
        with Peak(server.process.pid, SAMPLE_S) as serving:
            worker = site.worker(size.format, "ada", "--threads", str(threads), "--jobs", "train")
            with Peak(worker.process.pid, SAMPLE_S) as training:
                finish(worker)
            seconds = time.monotonic() - started - SETTLE_S
            published = count_published(site, size)
        return outcome(size, worker, seconds, (idle, serving, training), published)


def create(site: Site, size: Size, shards: Path) -> None:
    site.manage("migrate", "-v0")
    work = {
        "--format": size.format,
        "--rounds": size.rounds,
        "--ic-adim": size.inner_steps,
        "--bs": BATCH,
        "--seq": SEQ,
        "--lr": size.lr,
        "--kodlama": "int8",
        "--data": shards,
        "--round-seconds": int(LONGEST_S),
    }
    words = [str(word) for pair in work.items() for word in pair]
    site.manage("create_run", size.format, *words, "--no-verify", seconds=LONGEST_S)


def finish(program: Program) -> None:
    status = program.wait(LONGEST_S)
    if status:
        sys.exit(f"a volunteer failed with status {status}: {''.join(program.lines[-10:])}")


def count_published(site: Site, size: Size) -> int:
    """Snapshots that can be downloaded whole, after rounds whose loss is a number."""
    rounds = site.status(size.format)["gecmis"]
    return sum(
        isfinite(found.get("kayip", nan))
        and sha256_of(site, size.format, number) == found["sha256"]
        for number, found in zip(size.snapshots, rounds, strict=False)
    )


def sha256_of(site: Site, slug: str, snapshot: int) -> str:
    digest = hashlib.sha256()
    url, which = f"{site.base(slug)}/adaptor", {"tur": snapshot}
    with requests.get(url, which, stream=True, timeout=PATIENCE_S) as answer:
        answer.raise_for_status()
        for piece in answer.iter_content(MIB):
            digest.update(piece)
    return digest.hexdigest()


def outcome(
    size: Size,
    worker: WorkerProcess,
    seconds: float,
    peaks: tuple[Peak, Peak, Peak],
    published: int,
) -> Outcome:
    losses = [event["loss"] for event in worker.named("step")]
    last = losses[-LAST_STEPS:] if len(losses) >= 2 * LAST_STEPS else losses[-1:]
    (told,) = worker.named("finished")
    idle, serving, training = peaks
    return Outcome(
        format=size.format,
        parameters=load_format(size.format).parameters,
        steps=told["steps"],
        tokens=told["tokens"],
        loss_first=losses[0],
        loss_last=sum(last) / len(last),
        wall_s=round(seconds, 1),
        train_s=told["train_s"],
        bytes_down=told["bytes_down"],
        bytes_up=told["bytes_up"],
        worker_bytes=training.held,
        server_bytes=serving.held,
        server_idle_bytes=idle.held,
        published=published,
    )


# --- report --------------------------------------------------------------------------------------


def show(outcomes: Sequence[Outcome]) -> None:
    columns = (
        "format",
        "parameters",
        "steps",
        "tokens",
        "first loss",
        "last",
        "wall s",
        "training s",
        "MB down",
        "MB up",
        "worker MiB",
        "server MiB",
        "idle MiB",
    )
    print_table("Models from scratch through a whole swarm", columns, [row(o) for o in outcomes])


def row(found: Outcome) -> list[str]:
    return [
        found.format,
        f"{found.parameters:,}",
        str(found.steps),
        f"{found.tokens:,}",
        f"{found.loss_first:.2f}",
        f"{found.loss_last:.2f}",
        f"{found.wall_s:.0f}",
        f"{found.train_s:.0f}",
        f"{found.bytes_down / MB:.0f}",
        f"{found.bytes_up / MB:.0f}",
        f"{found.worker_bytes / MIB:.0f}",
        f"{found.server_bytes / MIB:.0f}",
        f"{found.server_idle_bytes / MIB:.0f}",
    ]


def bars_of(size: Size, found: Outcome) -> list[Bar]:
    name, missing = size.format, size.rounds - found.published
    grown = (found.server_bytes - found.server_idle_bytes) / MIB
    bars = [
        Bar(f"{name}: snapshots not published, or without a finite loss", missing, 0, "snapshots"),
        Bar(f"{name}: server memory above idle", grown, SERVER_LIMIT_MIB, "MiB"),
    ]
    if found.steps >= 2 * LAST_STEPS:
        rise = found.loss_last - found.loss_first
        bars.insert(0, Bar(f"{name}: last loss less the first", rise, -LEAST_FALL_NATS, "nats"))
    return bars


def measure(sizes: Sequence[Size], texts: Sequence[Path], threads: int) -> list[Outcome]:
    with tempfile.TemporaryDirectory(prefix="sizes-") as name:
        folder, outcomes = Path(name), []
        with Site(folder / "text") as site:
            shards = make_shards(site, texts, folder)
        for size in sizes:
            with tempfile.TemporaryDirectory(dir=folder) as place:
                outcomes.append(found := train(size, shards, Path(place), threads))
            change = f"loss {found.loss_first:.2f} to {found.loss_last:.2f}"
            print(f"{size.format}: {change} in {found.wall_s:.0f} s", flush=True)
    return outcomes


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    texts = sorted(options.texts.glob("*.jsonl"))
    if not texts:
        print("NOT MEASURED  models of all sizes: run python -m benchmarks.scratch_text first")
        return 0
    outcomes = measure(options.sizes, texts, options.threads)
    show(outcomes)
    if options.write:
        words = sys.argv[1:] if arguments is None else arguments
        report: dict[str, Any] = {"command": " ".join(("python -m benchmarks.sizes", *words))}
        report |= {"seq": SEQ, "batch": BATCH, "threads": options.threads}
        report["sizes"] = [asdict(found) for found in outcomes]
        RESULTS.write_text(json.dumps(report, indent=1) + "\n", "utf-8")
    pairs = zip(options.sizes, outcomes, strict=True)
    return judge([bar for size, found in pairs for bar in bars_of(size, found)])


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    every = ",".join(SIZES)
    parser.add_argument("--sizes", type=sizes_argument, default=every, help=f"default: {every}")
    parser.add_argument("--texts", type=Path, default=FOLDER / "texts")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="of the volunteer")
    parser.add_argument("--write", action="store_true", help="keep the results as data")
    return parser


def sizes_argument(text: str) -> list[Size]:
    names = text.split(",")
    if unknown := sorted(set(names) - set(SIZES)):
        raise argparse.ArgumentTypeError(
            f"no size {', '.join(unknown)}; there are {', '.join(SIZES)}"
        )
    return [SIZES[name] for name in names]


if __name__ == "__main__":
    sys.exit(main())
