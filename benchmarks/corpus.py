"""The corpus pipeline: speed of packing against the tokenizer's own, memory against size.

    python -m benchmarks.corpus [--texts var/scratch/texts] [--megabytes 100] [--times 4]

Text is that of ``python -m benchmarks.scratch_text``. Of its paragraphs new articles are drawn, so
that a corpus of any size has no copies. Speed: ``corpus pack``, from articles on disk to rows on
disk, against the library ``tokenizers`` encoding the same texts, which it has in memory, in batches
on as many cores; in turn, the best of each. Memory: the most that all processes of a command hold
without mapped files (sampled twenty times a second), for a part of the text and for all of it.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import psutil

from benchmarks.scratch_text import FOLDER
from benchmarks.table import Bar, judge, print_table
from worker_client.corpus.ingest import clean_files
from worker_client.corpus.pack import Packing, pack
from worker_client.corpus.tokenizer import tokenizer_file
from worker_client.corpus.vocabulary import Vocabulary
from worker_client.corpus.workspace import write
from worker_client.data.article import Article, read_article

MB, MIB = 10**6, 2**20
CORES = "2"
REPETITIONS = 3
SAMPLE_S = 0.05
BATCH = 1000
SLOWEST = 1 / 0.6
MOST_GROWTH = 1.1
PARAGRAPHS = 8


# --- text of any size ----------------------------------------------------------------------------


def drawn(texts: Path, size: int) -> Iterator[bytes]:
    """Lines with ``size`` bytes of articles, each of paragraphs of one language."""
    draw, found = random.Random(0), {}
    for path in sorted(texts.glob("*.jsonl")):
        bodies = (read_article(line).body for line in path.open("rb"))
        found[path.stem] = [part for body in bodies for part in body.split("\n\n")]
    written = 0
    while written < size:
        language = draw.choice(sorted(found))
        body = "\n\n".join(draw.sample(found[language], PARAGRAPHS))
        written += len(body.encode())
        yield Article("", "", "", body, language).to_line()


# --- speed ---------------------------------------------------------------------------------------


class Spent(NamedTuple):
    """Seconds by the clock, and of processor time of this process and its ended children."""

    clock: float
    processor: float


def measure_speed(corpus: Path) -> Bar:
    packing = Packing(Vocabulary(tokenizer_file(corpus)))
    texts = [read_article(line).text for path in clean_files(corpus) for line in path.open("rb")]
    size = sum(len(text.encode()) for text in texts) / MIB
    ours, theirs = [], []
    for _ in range(REPETITIONS):
        theirs.append(min(spent_by_library(corpus, texts)))
        ours.append(spent(lambda: pack(corpus, packing, processes=int(CORES), again=True)))
    rows = [
        (name, *(f"{size / value:.2f}" for value in (*best(found), max(found).clock)))
        for name, found in (("tokenizers, batch by batch", theirs), ("corpus pack", ours))
    ]
    columns = ("MiB of text", "a second", "a second of processor time", "a second, worst")
    print_table(f"Tokenising on {CORES} cores, best of {REPETITIONS}", columns, rows)
    ratio = best(ours).clock / best(theirs).clock
    return Bar("time of packing by the library's own", ratio, SLOWEST, "times")


def best(found: list[Spent]) -> Spent:
    return Spent(*map(min, zip(*found, strict=True)))


def spent_by_library(corpus: Path, texts: list[str]) -> Iterator[Spent]:
    """By each of the library's two ways to encode a batch."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(tokenizer_file(corpus)))
    for way in (tokenizer.encode_batch, tokenizer.encode_batch_fast):
        yield spent(partial(encode_all, way, texts))


def encode_all(way: Callable[[list[str]], object], texts: list[str]) -> None:
    source = iter(texts)
    while some := list(islice(source, BATCH)):
        way(some)


def spent(work: Callable[[], object]) -> Spent:
    clock, processor = time.perf_counter(), sum(os.times()[:4])
    work()
    return Spent(time.perf_counter() - clock, sum(os.times()[:4]) - processor)


# --- memory --------------------------------------------------------------------------------------


def through_all_steps(corpus: Path, articles: Path, budget: int) -> dict[str, float]:
    """The most memory of each step, MiB; the tokenizer learns from ``budget`` MB."""
    steps = {
        "ingest": [str(articles), "--processes", CORES],
        "tokenizer": ["--budget-mb", str(budget)],
        "pack": ["--processes", CORES],
        "shard": ["--shards", "2", "--out", str(corpus / "shards"), "--processes", CORES],
    }
    return {step: peak_mib("corpus", step, str(corpus), *words) for step, words in steps.items()}


def peak_mib(*words: str) -> float:
    """The most memory that a command and its children hold, without files that they map: what of
    those is in memory is the system's cache."""
    command = [sys.executable, "-m", "worker_client", *words]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        known, peak = psutil.Process(process.pid), 0
        while process.poll() is None:
            peak = max(peak, held(known) + sum(map(held, children(known))))
            time.sleep(SAMPLE_S)
    if process.returncode:
        sys.exit(f"{' '.join(words)} failed, so nothing was measured")
    return peak / MIB


def children(process: psutil.Process) -> list[psutil.Process]:
    try:
        return process.children(recursive=True)
    except psutil.Error:
        return []


def held(process: psutil.Process) -> int:
    try:
        memory = process.memory_info()
        return memory.rss - memory.shared
    except psutil.Error:
        return 0  # it has just ended


def report_memory(small: dict[str, float], large: dict[str, float], times: int) -> list[Bar]:
    rows = [(step, f"{small[step]:.0f}", f"{large[step]:.0f}") for step in small]
    columns = ("corpus ...", f"1/{times} of the text", "all of it")
    print_table("Most memory of all processes of a step, MiB", columns, rows)
    return [
        Bar(
            f"memory of {step} for {times} times the text",
            large[step] / small[step],
            limit,
            "times",
        )
        for step, limit in dict.fromkeys(small, MOST_GROWTH).items()
    ]


# --- report --------------------------------------------------------------------------------------


def measure(texts: Path, folder: Path, size: int, times: int) -> int:
    articles = {name: folder / f"{name}.jsonl" for name in ("small", "large")}
    write(articles["large"], drawn(texts, size))
    write(articles["small"], drawn(texts, size // times))
    budget = max(1, size // times // MB // 2)
    peaks = {
        name: through_all_steps(folder / name, path, budget) for name, path in articles.items()
    }
    bars = report_memory(peaks["small"], peaks["large"], times)
    return judge([measure_speed(folder / "large"), *bars])


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--texts", type=Path, default=FOLDER / "texts")
    parser.add_argument("--megabytes", type=int, default=100, help="of text")
    parser.add_argument("--times", type=int, default=4, help="the small corpus is one of so many")
    arguments = parser.parse_args()
    if not list(arguments.texts.glob("*.jsonl")):
        print("NOT MEASURED  the corpus: run python -m benchmarks.scratch_text first")
        return 0
    with tempfile.TemporaryDirectory(prefix="corpus-") as folder:
        size = arguments.megabytes * MB
        return measure(arguments.texts, Path(folder), size, arguments.times)


if __name__ == "__main__":
    sys.exit(main())
