"""The lab's coordinator: its screens, its merging and its trust are the real ones."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.byzantine.checks import Checks, Taken
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
        self.used: list[list[int]] = []  # which results were merged, round by round
        self.delivered: set[str] = set()  # digests of all results of earlier rounds

    @property
    def weights(self) -> np.ndarray:
        return self.start.read(0, self.start.count)

    def end_round(self, number: int, results: np.ndarray, honest: np.ndarray) -> None:
        """Merge ``results [n, d]`` into the next snapshot, or keep the old one when none stands.

        ``honest [n, d]`` is what an honest volunteer makes of the same tasks.
        """
        files = [self._file(f"result-{i}", result) for i, result in enumerate(results)]
        taken = {i: Taken() for i, result in enumerate(results) if self._is_possible(result)}
        if self.defence.verifies:
            repeated = [self._file(f"honest-{i}", result) for i, result in enumerate(honest)]
            taken = self.checks.judge(number, self.start, files, repeated, sorted(taken))
        standing = self._screened(files, sorted(taken))
        self.used.append(standing)
        if standing:
            contributions = [
                Contribution(files[i], taken[i].weight, trusted=taken[i].trusted) for i in standing
            ]
            self._merge(contributions, left_out=len(taken) - len(standing))

    def _is_possible(self, result: np.ndarray) -> bool:
        """What intake lets pass, where anything is screened at all."""
        distance = squared_distance(result, self.weights)
        return not self.defence.screens or distance <= self.norm_limit**2

    def _screened(self, files: list[VectorFile], standing: list[int]) -> list[int]:
        if not self.defence.screens:
            return standing
        out = screen([self._evidence(files[i]) for i in standing])
        self.delivered |= {_digest(file) for file in files}
        return [i for place, i in enumerate(standing) if place not in out]

    def _evidence(self, file: VectorFile) -> Evidence:
        """Results arrive in the order of their authors, who all take equally long."""
        update = file.read(0, file.count) - self.weights
        sketcher = Sketcher(SKETCH_KEY)
        for begin, end in slices(file.count, TABLE_FLOATS):
            sketcher.add(update[begin:end])
        return Evidence(
            norm=float(np.linalg.norm(update.astype(np.float64))),
            sketch=sketcher.finish(),
            digest=_digest(file),
            order=int(file.path.name.removeprefix("result-")),
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
