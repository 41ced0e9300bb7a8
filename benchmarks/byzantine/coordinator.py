"""The lab's coordinator: its screens, its merging and its trust are the real ones."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.byzantine.checks import Checks, Taken, Work
from coordination.aggregation.merge import Contribution, MergePlan, merge
from coordination.aggregation.rules import DEFAULT_SHARE, RULES
from coordination.aggregation.screen import Evidence, screen
from coordination.aggregation.sketch import TABLE_FLOATS, Sketcher
from coordination.aggregation.sums import squared_distance
from coordination.aggregation.vectors import FLOAT32, VectorFile, slices

SKETCH_KEY = b"of the lab"


@dataclass(frozen=True)
class Defence:
    """``screens``: results are screened, at intake and before the merge. ``verifies``: and other
    volunteers repeat them, as the trust in their authors demands."""

    rule: str
    clip: bool
    screens: bool = False
    verifies: bool = False

    @property
    def name(self) -> str:
        parts = {"clip": self.clip, "screens": self.screens, "verification": self.verifies}
        return "+".join([self.rule, *(part for part, used in parts.items() if used)])


class Delivery(NamedTuple):
    """A result that is taken: ``taker`` trained the task that was ``author``'s at first."""

    author: int
    taker: int
    file: VectorFile
    taken: Taken

    @property
    def contribution(self) -> Contribution:
        return Contribution(self.file, self.taken.weight, trusted=self.taken.trusted)


class Coordinator:
    """Keeps snapshot, outer state and trust from round to round, in files below ``folder``."""

    def __init__(
        self,
        folder: Path,
        start: np.ndarray,
        defence: Defence,
        norm_limit: float,
        checks: Checks,
    ) -> None:
        self.folder = folder
        self.defence = defence
        self.norm_limit = norm_limit
        self.checks = checks
        self.plan = MergePlan(
            rule=RULES[defence.rule], byzantine_share=DEFAULT_SHARE, clip=defence.clip
        )
        self.start = self._file("start", start)
        self.state: list[VectorFile] = []
        self.used: list[list[int]] = []  # whose results were merged, round by round
        self.delivered: set[str] = set()  # digests of all results of earlier rounds

    @property
    def weights(self) -> np.ndarray:
        return self.start.read(0, self.start.count)

    def end_round(self, number: int, results: np.ndarray, honest: np.ndarray) -> None:
        """Merge ``results [n, d]`` into the next snapshot, or keep the old one when none stands.

        ``honest [n, d]`` is what an honest volunteer makes of the same tasks.
        """
        sent = [self._file(f"result-{i}", result) for i, result in enumerate(results)]
        repeated = [self._file(f"honest-{i}", result) for i, result in enumerate(honest)]
        work = Work(number, self.start, sent, repeated)
        taken = [found for author in range(len(sent)) if (found := self._taken(work, author))]
        standing = self._screened(work, taken)
        self.used.append([taken.taker for taken in standing])
        if standing:
            self._merge([one.contribution for one in standing], len(taken) - len(standing))

    def _taken(self, work: Work, author: int) -> Delivery | None:
        """The first result for the author's task that is taken, whoever made it."""
        for taker in self.checks.takers(author):
            file = self.checks.made(work, author, taker)
            if not self._is_possible(file):
                continue
            if not self.defence.verifies:
                return Delivery(author, taker, file, Taken())
            if taken := self.checks.judge(work, author, taker):
                return Delivery(author, taker, file, taken)
        return None

    def _is_possible(self, file: VectorFile) -> bool:
        """What intake lets pass, where anything is screened at all."""
        distance = squared_distance(file.read(0, file.count), self.weights)
        return not self.defence.screens or distance <= self.norm_limit**2

    def _screened(self, work: Work, taken: list[Delivery]) -> list[Delivery]:
        if not self.defence.screens:
            return taken
        out = screen([self._evidence(one) for one in taken])
        self.delivered |= {_digest(file) for file in (*work.sent, *(one.file for one in taken))}
        return [one for place, one in enumerate(taken) if place not in out]

    def _evidence(self, one: Delivery) -> Evidence:
        """Results arrive in the order of their tasks, which all take equally long."""
        file = one.file
        update = file.read(0, file.count) - self.weights
        sketcher = Sketcher(SKETCH_KEY)
        for begin, end in slices(file.count, TABLE_FLOATS):
            sketcher.add(update[begin:end])
        return Evidence(
            norm=float(np.linalg.norm(update.astype(np.float64))),
            sketch=sketcher.finish(),
            digest=_digest(file),
            order=one.author,
            seen_before=_digest(file) in self.delivered,
        )

    def _merge(self, contributions: list[Contribution], left_out: int) -> None:
        weights, *state = [bytearray() for _ in (0, *self.plan.outer.state_names)]
        merge(
            self.start,
            self.state,
            contributions,
            self.plan,
            weights.extend,
            [values.extend for values in state],
            left_out,
        )
        self.start = self._file("start", np.frombuffer(weights, FLOAT32))
        self.state = [
            self._file(name, np.frombuffer(values, FLOAT32))
            for name, values in zip(self.plan.outer.state_names, state, strict=True)
        ]

    def _file(self, name: str, values: np.ndarray) -> VectorFile:
        path = self.folder / name
        path.write_bytes(values.astype(FLOAT32).tobytes())
        return VectorFile(path, 0, len(values))


def _digest(file: VectorFile) -> str:
    return hashlib.sha256(file.path.read_bytes()).hexdigest()
