"""How far honest repetitions of a task lie from each other, and how far cheats do.

    python -m benchmarks.verification [--format smollm2-135m-lora-r16 --models-dir DIR]

A task is trained as different computers would: base model in float32 and in bfloat16, one thread
and two. Then come results that were not honestly trained. The bars: every honest pair lies below
the tolerance that ``coordination/verification/tolerance.py`` has for its dtypes, and every cheat
above it.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path

import numpy as np

from benchmarks.table import Bar, judge, print_table
from coordination.aggregation.compare import Distance, compare
from coordination.aggregation.vectors import VectorFile
from coordination.verification.tolerance import tolerance
from modelen_site.demo.catalogues import read_messages
from worker_client.contract.formats import AdapterFormat, Format, load_format
from worker_client.contract.tensors import read_header
from worker_client.data.make import make_shards
from worker_client.models.fetch import fetch
from worker_client.models.store import ModelStore
from worker_client.training.initial import write_initial
from worker_client.training.messages import Done, Failure, Load, Ready, Train
from worker_client.training.process import TrainingProcess

TINY = "tiny-qwen3-lora-r4"
SEED, ROUNDS = 7, 3


@dataclass(frozen=True)
class Setting:
    """The numbers of the task that is repeated."""

    inner_steps: int
    batch_size: int
    seq_len: int
    lr: float


@dataclass(frozen=True)
class Computer:
    dtype: str
    threads: int

    def __str__(self) -> str:
        return f"{self.dtype}, {self.threads} thread{'s' if self.threads > 1 else ''}"


COMPUTERS = tuple(Computer(dtype, n) for dtype in ("float32", "bfloat16") for n in (1, 2))
USUAL = COMPUTERS[0]


@dataclass(frozen=True)
class Job:
    """Which task: its round and shard, and how many of its steps are done."""

    round: int
    shard: int
    steps: int


class Laboratory:
    """Shards and a first snapshot of one format, and results by computer and job."""

    def __init__(self, fmt: Format, setting: Setting, folder: Path, models: str | None) -> None:
        self.format, self.setting, self.folder, self.models = fmt, setting, folder, models
        texts = folder / "texts"
        texts.mkdir()
        for number, message in enumerate(read_messages()):
            (texts / f"{number:05}.txt").write_text(message.translation, "utf-8")
        where, store = folder / "shards", ModelStore(models)
        seq_len = setting.seq_len
        make_shards(fmt, store, [texts], where, mode="cpt", seq_len=seq_len, shards=2)
        self.shards = sorted(where.glob("*.safetensors"))
        self.starts = {1: folder / "start.safetensors"}
        write_initial(fmt, SEED, self.starts[1])

    def train(self, computer: Computer, jobs: Sequence[Job]) -> dict[Job, Path]:
        """Result files of ``jobs``, by one child that keeps its model."""
        with TrainingProcess() as child:
            load = {"format": self.format.id, "models_dir": self.models, "device": "cpu"}
            child.send(Load(**load, **asdict(computer)))
            _answer(child, Ready)
            return {job: self._train(child, computer, job) for job in jobs}

    def _train(self, child: TrainingProcess, computer: Computer, job: Job) -> Path:
        name = f"{computer.dtype}-{computer.threads}-{job.round}-{job.shard}-{job.steps}"
        out = self.folder / f"{name}.safetensors"
        numbers = asdict(self.setting) | {"inner_steps": job.steps}
        child.send(
            Train(
                lease_id="bench",
                round=job.round,
                rounds=ROUNDS,
                seed=SEED,
                shard=job.shard,
                mode="cpt",
                snapshot=str(self.starts[job.round]),
                data=str(self.shards[job.shard]),
                out=str(out),
                **numbers,
            )
        )
        _answer(child, Done)
        return out

    def distance(self, job: Job, author: Path, repeated: Path) -> Distance:
        return compare(*map(_vector, (self.starts[job.round], author, repeated)))

    def forge(self, job: Job, honest: Path, change: Callable[[np.ndarray], np.ndarray]) -> Path:
        """A file whose update is ``change`` of the honest one."""
        start, after = _vector(self.starts[job.round]), _vector(honest)
        w = start.read(0, start.count)
        values = (w + change(after.read(0, after.count) - w)).astype("<f4")
        out = self.folder / "forged.safetensors"
        out.write_bytes(honest.read_bytes()[: after.offset] + values.tobytes())
        return out


def _answer(child: TrainingProcess, kind: type) -> None:
    while not isinstance(event := child.next_event(timeout=1.0), kind):
        if isinstance(event, Failure):
            raise SystemExit(f"training failed: {event.message}")


def _vector(path: Path) -> VectorFile:
    with path.open("rb") as file:
        offset = read_header(file, path.stat().st_size).data_start
    return VectorFile(path, offset, (path.stat().st_size - offset) // 4)


def _noise(update: np.ndarray) -> np.ndarray:
    """Gaussian, of the honest update's length."""
    drawn = np.random.default_rng(SEED).standard_normal(update.size)
    return drawn * (np.linalg.norm(update) / np.linalg.norm(drawn))


FORGERIES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "noise of the same length": _noise,
    "nothing done": lambda update: 0 * update,
    "sign turned": lambda update: -update,
    "twice as far": lambda update: 2 * update,
}


@dataclass(frozen=True)
class Pair:
    """``tolerance`` is what the dtypes of the two allow."""

    round: int
    what: str
    distance: Distance
    tolerance: float
    honest: bool

    def row(self) -> list[str]:
        caught = "" if self.honest else ("yes" if self.ratio > 1 else "no")
        numbers = (f"{self.distance.relative:.2e}", f"{self.distance.cosine:.4f}")
        return [self.what, str(self.round), *numbers, f"{self.tolerance:g}", caught]

    @property
    def ratio(self) -> float:
        return self.distance.relative / self.tolerance


def measure(lab: Laboratory) -> list[Pair]:
    """Round 1 from the first snapshot, round 2 from what its honest result made of it."""
    pairs: list[Pair] = []
    for number in (1, 2):
        steps = lab.setting.inner_steps
        whole, other, half = (
            Job(number, 0, steps),
            Job(number, 1, steps),
            Job(number, 0, steps // 2),
        )
        usual = lab.train(USUAL, [whole, other, half])
        files = {USUAL: usual[whole]}
        files |= {c: lab.train(c, [whole])[whole] for c in COMPUTERS if c != USUAL}
        pairs += _honest(lab, whole, files)
        cheats = {"another shard": usual[other], "half of the steps": usual[half]}
        for checker in (c for c in files if c.threads == 1):
            pairs += _cheats(lab, whole, files, checker, cheats)
        lab.starts[number + 1] = usual[whole]
    return pairs


def _honest(lab: Laboratory, job: Job, files: dict[Computer, Path]) -> list[Pair]:
    return [
        Pair(
            job.round,
            f"{a} / {b}",
            lab.distance(job, files[a], files[b]),
            tolerance(a.dtype, b.dtype),
            honest=True,
        )
        for a, b in combinations(files, 2)
    ]


def _cheats(
    lab: Laboratory, job: Job, files: dict[Computer, Path], checker: Computer, made: dict[str, Path]
) -> list[Pair]:
    """Cheats of the usual computer, repeated by ``checker``."""
    limit, pairs = tolerance(USUAL.dtype, checker.dtype), []

    def add(what: str, file: Path) -> None:
        found = lab.distance(job, file, files[checker])
        pairs.append(Pair(job.round, f"{what} / {checker.dtype}", found, limit, honest=False))

    for what, file in made.items():
        add(what, file)
    for what, change in FORGERIES.items():
        add(what, lab.forge(job, files[USUAL], change))
    return pairs


def bars_of(pairs: list[Pair]) -> list[Bar]:
    honest = max(pair.ratio for pair in pairs if pair.honest)
    cheats = min(pair.ratio for pair in pairs if not pair.honest)
    return [
        Bar("the farthest honest repetition", honest, 1, "tolerances"),
        Bar("the tolerance", 1 / cheats, 1, "of the nearest cheat"),
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Distances of honest and of forged repetitions")
    parser.add_argument("--format", default=TINY)
    parser.add_argument("--models-dir", help="where its base model lies; the tiny one is made")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--bs", type=int, default=2)
    parser.add_argument("--seq", type=int, default=64)
    parser.add_argument("--lr", type=float, default=1e-3)
    args = parser.parse_args(arguments)
    fmt = load_format(args.format)
    if not isinstance(fmt, AdapterFormat):
        parser.error(f"{fmt.id} has no base model; this compares number types of one")
    with tempfile.TemporaryDirectory(prefix="modelen-verification-") as name:
        models = args.models_dir
        if models is None:
            models = str(Path(name) / "models")
            fetch(fmt, ModelStore(models))
        setting = Setting(args.steps, args.bs, args.seq, args.lr)
        pairs = measure(Laboratory(fmt, setting, Path(name), models))
    columns = ["author / verifier", "round", "distance", "cosine", "tolerance", "caught"]
    print_table(f"Repetitions of a task of {fmt.id}: {setting}", columns, [p.row() for p in pairs])
    return judge(bars_of(pairs))


if __name__ == "__main__":
    sys.exit(main())
