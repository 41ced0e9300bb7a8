"""All arms, a few to a process, each finished one a line in a file."""

import hashlib
import json
import multiprocessing
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

import torch

import coordination.aggregation
import coordination.trust
from benchmarks.byzantine.attacks import ATTACKS
from benchmarks.byzantine.coordinator import Defence
from benchmarks.byzantine.lab import NOBODY, Arm, Outcome, run_arm, stage
from coordination.aggregation.rules import RULES

ROOT = Path(__file__).parents[2]
CACHE = ROOT / "var" / "byzantine"
SEEDS = (0, 1, 2)
SECONDS = 1.3  # an arm on one core
BAR_WIDTH = 30
CHUNK = 1 + len(
    ATTACKS
)  # arms a process runs one after the other; one that is interrupted forgets them
# What an outcome follows from; how it is told does not.
SOURCES = (
    "attacks.py", "checks.py", "coordinator.py", "lab.py", "model.py", "poison.py", "text.py",
    "train.py",
)  # fmt: skip

# Volunteers claim no tokens here, and all have as many: by tokens would be the mean once more.
BARE = [
    Defence(rule.name, clip)
    for rule in RULES.values()
    if not rule.by_tokens
    for clip in (False, True)
]


def arms_of(defences: Sequence[Defence], seeds: Sequence[int]) -> list[Arm]:
    """Every defence with nobody hostile and against every attack."""
    return [
        Arm(attack, defence, seed)
        for seed in seeds
        for defence in defences
        for attack in (NOBODY, *ATTACKS)
    ]


def one_language_each(defences: Sequence[Defence], seeds: Sequence[int]) -> list[Arm]:
    """Nobody hostile, each shard one language."""
    return [Arm(NOBODY, defence, seed, True) for seed in seeds for defence in defences]


class Grid:
    """Runs arms and remembers their outcomes in ``folder``, as long as the code is the same."""

    def __init__(self, folder: Path = CACHE) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / f"{_digest()[:16]}.jsonl"
        self.outcomes = dict(self._read())

    def _read(self) -> Iterator[tuple[str, Outcome]]:
        if self.path.exists():
            for line in self.path.read_text().splitlines():
                with suppress(ValueError):  # half a line, from when the grid was stopped
                    arm, outcome = json.loads(line)
                    yield arm, Outcome(**outcome)

    def run(self, arms: Sequence[Arm], processes: int = 1) -> None:
        """Run those of ``arms`` that have no outcome yet, ``processes`` at a time."""
        missing = [arm for arm in arms if arm.name not in self.outcomes]
        minutes = len(missing) * SECONDS / processes / 60
        print(
            f"{len(arms)} arms, {len(arms) - len(missing)} of them known from {self.path}; "
            f"the others take about {minutes:.0f} minutes of an idle machine",
            flush=True,
        )
        if missing:
            self._run(missing, processes)

    def _run(self, missing: list[Arm], processes: int) -> None:
        torch.set_num_threads(1)
        for seed, languages in sorted({(arm.seed, arm.languages) for arm in missing}):
            stage(seed, languages)  # once, before the processes part
        context, started = multiprocessing.get_context("fork"), time.monotonic()
        with (
            context.Pool(processes, maxtasksperchild=1) as pool,
            self.path.open("a", buffering=1) as file,
        ):
            results = pool.imap_unordered(_run_named, missing, CHUNK)
            for done, (arm, outcome) in enumerate(results, 1):
                self.outcomes[arm] = outcome
                file.write(json.dumps([arm, asdict(outcome)]) + "\n")
                _show(done, len(missing), time.monotonic() - started)


def _run_named(arm: Arm) -> tuple[str, Outcome]:
    return arm.name, run_arm(arm)


def _show(done: int, total: int, seconds: float) -> None:
    if not sys.stderr.isatty() and done % 25 and done != total:
        return
    filled = BAR_WIDTH * done // total
    left = seconds / done * (total - done) / 60
    bar = "#" * filled + "." * (BAR_WIDTH - filled)
    end = "\r" if sys.stderr.isatty() and done < total else "\n"
    print(f"[{bar}] {done}/{total}, {left:.1f} min left ", end=end, file=sys.stderr, flush=True)


def _digest() -> str:
    """Of all code that an outcome follows from."""
    files = [Path(__file__).with_name(name) for name in SOURCES]
    for package in (coordination.aggregation, coordination.trust):
        files += sorted(Path(package.__path__[0]).rglob("*.py"))
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.name.encode() + file.read_bytes())
    return digest.hexdigest()
