"""The corpus pipeline: speed of packing against the tokenizer's own, memory against size.

    python -m benchmarks.corpus [--texts var/scratch/texts] [--megabytes 100] [--times 4]

Text is that of ``python -m benchmarks.scratch_text``. Of its paragraphs new articles are drawn, so
that a corpus of any size has no copies. Speed: ``corpus pack``, from articles on disk to rows on
disk, against the library ``tokenizers`` encoding the same texts, which it has in memory, in batches
in as many threads; in turn, so that both meet the same neighbours, and the median of the pairs
counts, by the clock and in processor time. It is measured on a part of the text only, in which few
paragraphs come again. Memory: the most that all processes of a command hold without mapped files
(sampled twenty times a second), for that part of the text and for all of it.
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
from statistics import median
from typing import NamedTuple

from benchmarks.memory import MIB, Peak
from benchmarks.scratch_text import FOLDER
from benchmarks.table import Bar, judge, print_table
from worker_client.corpus.ingest import clean_files
from worker_client.corpus.pack import Packing, pack
from worker_client.corpus.tokenizer import tokenizer_file
from worker_client.corpus.vocabulary import Vocabulary
from worker_client.corpus.workspace import write
from worker_client.data.article import Article, read_article

MB = 10**6
CORES = 2
PAIRS = 5
# Of the cores, what the library has at least where nothing else works.
BUSY = 0.8
BATCH = 1000
SLOWEST = 1 / 0.6
MOST_GROWTH = 1.1
PARAGRAPHS = 8
Work = Callable[[], object]


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

    @property
    def cores(self) -> float:
        return self.processor / self.clock


def measure_speed(corpus: Path) -> list[Bar]:
    packing = Packing(Vocabulary(tokenizer_file(corpus)))
    texts = [read_article(line).text for path in clean_files(corpus) for line in path.open("rb")]
    library = faster_way(corpus, texts)
    works: list[Work] = [library, partial(pack, corpus, packing, processes=CORES, again=True)]
    pairs = [in_turn(works, number) for number in range(PAIRS)]
    size = sum(len(text.encode()) for text in texts) / MIB
    show_speed(size, pairs)
    return [
        Bar(f"{what} of packing by the library's own", ratio, SLOWEST, "times")
        for what, ratio in (
            ("time", median(ours.clock / theirs.clock for theirs, ours in pairs)),
            ("processor time", median(ours.processor / theirs.processor for theirs, ours in pairs)),
        )
    ]


def faster_way(corpus: Path, texts: list[str]) -> Work:
    """Of the library's two ways to encode a batch the one that takes less processor time."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(tokenizer_file(corpus)))
    ways = (tokenizer.encode_batch, tokenizer.encode_batch_fast)
    some = texts[:: len(texts) // BATCH + 1]
    best = min(ways, key=lambda way: spent(partial(encode_all, way, some)).processor)
    return partial(encode_all, best, texts)


def encode_all(way: Callable[[list[str]], object], texts: list[str]) -> None:
    source = iter(texts)
    while some := list(islice(source, BATCH)):
        way(some)


def in_turn(works: list[Work], number: int) -> list[Spent]:
    """What each takes; every other time the last one begins."""
    backwards = number % 2
    found = [spent(work) for work in (works[::-1] if backwards else works)]
    return found[::-1] if backwards else found


def spent(work: Work) -> Spent:
    clock, processor = time.perf_counter(), sum(os.times()[:4])
    work()
    return Spent(time.perf_counter() - clock, sum(os.times()[:4]) - processor)


def show_speed(size: float, pairs: list[list[Spent]]) -> None:
    names = ("tokenizers, batch by batch", "corpus pack")
    rows = []
    for name, found in zip(names, zip(*pairs, strict=True), strict=True):
        rows.append(
            (
                name,
                f"{size / median(one.clock for one in found):.2f}",
                f"{size / median(one.processor for one in found):.2f}",
                f"{median(one.cores for one in found):.2f}",
            )
        )
    title = f"Tokenising {size:.0f} MiB of text on {CORES} cores, median of {PAIRS} pairs"
    columns = ("MiB of text", "a second", "a second of processor time", "cores had")
    print_table(title, columns, rows)
    if float(rows[0][-1]) < BUSY * CORES:
        print("The machine was busy with other work: go by processor time.")


# --- memory --------------------------------------------------------------------------------------


def through_all_steps(corpus: Path, articles: Path, budget: int) -> dict[str, float]:
    """The most memory of each step, MiB; the tokenizer learns from ``budget`` MB."""
    steps = {
        "ingest": [str(articles), "--processes", str(CORES)],
        "tokenizer": ["--budget-mb", str(budget)],
        "pack": ["--processes", str(CORES)],
        "shard": ["--shards", "2", "--out", str(corpus / "shards"), "--processes", str(CORES)],
    }
    return {step: peak_mib("corpus", step, str(corpus), *words) for step, words in steps.items()}


def peak_mib(*words: str) -> float:
    """The most memory that a command and its children hold."""
    command = [sys.executable, "-m", "worker_client", *words]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process, Peak(process.pid) as peak:
        process.wait()
    if process.returncode:
        sys.exit(f"{' '.join(words)} failed, so nothing was measured")
    return peak.held / MIB


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
    return judge([*measure_speed(folder / "small"), *bars])


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
    os.environ["RAYON_NUM_THREADS"] = str(CORES)  # read by the library, once
    with tempfile.TemporaryDirectory(prefix="corpus-") as folder:
        size = arguments.megabytes * MB
        return measure(arguments.texts, Path(folder), size, arguments.times)


if __name__ == "__main__":
    sys.exit(main())
