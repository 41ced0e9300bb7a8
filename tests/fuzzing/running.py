"""Case after case against one target: what became of each, what was wrong, what it cost.

A case is its target and a number, from which everything in it is drawn, so that any can be played
again: ``python -m benchmarks.fuzz --only NAME --first NUMBER --cases 1``.
"""

import random
import resource
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

# Each target's first cases fill caches and import modules; growth is counted from there on.
WARM_UP = 200
SHOWN = 5


class Wrong(Exception):
    """What a target did is not what an independent judge says is right."""


class Target(Protocol):
    name: str

    def play(self, draw: random.Random) -> str:
        """One case; what came of it, in a word or two.

        Raises:
            Wrong: it should have been something else. Any other exception is a crash.
        """


@dataclass
class Tally:
    """``wrong`` holds the first few cases that went wrong, each with its number."""

    target: str
    outcomes: Counter[str] = field(default_factory=Counter)
    wrongs: int = 0
    crashes: int = 0
    wrong: list[str] = field(default_factory=list)
    growth_bytes: int = 0

    @property
    def cases(self) -> int:
        return self.outcomes.total()

    def note(self, number: int, what: str) -> None:
        if len(self.wrong) < SHOWN:
            self.wrong.append(f"{self.target} case {number}: {what}")


def fuzz(
    target: Target, cases: int, first: int = 0, told: Callable[[int], None] = lambda done: None
) -> Tally:
    """Play ``cases`` cases from number ``first`` on; ``told`` hears how many are done."""
    tally, at_start = Tally(target.name), peak_bytes()
    for number in range(first, first + cases):
        tally.outcomes[_play(target, number, tally)] += 1
        if number - first == min(WARM_UP, cases // 2):
            at_start = peak_bytes()
        told(number - first + 1)
    tally.growth_bytes = peak_bytes() - at_start
    return tally


def _play(target: Target, number: int, tally: Tally) -> str:
    try:
        return target.play(random.Random(f"{target.name} {number}"))
    except Wrong as wrong:
        tally.wrongs += 1
        tally.note(number, str(wrong))
        return "WRONG"
    except Exception:
        tally.crashes += 1
        tally.note(number, traceback.format_exc(limit=-3))
        return "CRASH"


def peak_bytes() -> int:
    """The most memory this process has had resident so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
