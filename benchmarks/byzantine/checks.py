"""Verification in the lab: who is checked follows the real policy, verdicts the real comparison.

A verifier is drawn from all others. Attackers who collude verify too: they vouch for each other
and send another result for everybody else's task.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from coordination.aggregation.compare import compare
from coordination.aggregation.vectors import VectorFile
from coordination.trust.policy import CheckPolicy, Standing, weight
from coordination.verification.tolerance import SAME_DTYPE

SECRET = b"of the lab"


class Taken(NamedTuple):
    """A result that stands: what it may weigh, and whether it is beyond doubt."""

    weight: float = 1.0
    trusted: bool = False


@dataclass
class Checks:
    """``attackers`` are volunteers by number; ``colluding`` ones offer to verify."""

    volunteers: int
    attackers: frozenset[int]
    colluding: bool
    draw: np.random.Generator
    policy: CheckPolicy = field(default_factory=CheckPolicy)
    standings: dict[int, Standing] = field(default_factory=dict)
    made: int = 0

    def standing(self, volunteer: int) -> Standing:
        return self.standings.get(volunteer, Standing())

    def judge(
        self,
        round_number: int,
        start: VectorFile,
        results: list[VectorFile],
        honest: list[VectorFile],
        authors: list[int],
    ) -> dict[int, Taken]:
        """The results of ``authors`` that stand; those found wrong do not."""
        taken = {}
        for author in authors:
            before = self.standing(author)
            if not self.policy.must_check(before, SECRET, round_number, author):
                taken[author] = Taken(weight(before, False), self.policy.is_proven(before))
            elif self._is_valid(author, start, results, honest):
                taken[author] = Taken(weight(before, True), trusted=True)
        return taken

    def _is_valid(
        self, author: int, start: VectorFile, results: list[VectorFile], honest: list[VectorFile]
    ) -> bool:
        """One agreeing repetition is enough; after one that differs a second one decides."""
        first, second = self._verifiers(author)
        repeated = self._repeat(first, author, results, honest)
        if self._agree(start, results[author], repeated):
            return self._record(author, valid=True)
        other = self._repeat(second, author, results, honest)
        if self._agree(start, results[author], other):
            self._record(first, valid=False)
            return self._record(author, valid=True)
        if self._agree(start, repeated, other):
            return self._record(author, valid=False)
        return self._decide_by_standing(author, (first, second))

    def _decide_by_standing(self, author: int, others: tuple[int, int]) -> bool:
        """Three that differ: a proven worker's word stands against an unproven one's."""
        trusted = self.policy.is_proven(self.standing(author))
        if trusted == any(self.policy.is_proven(self.standing(other)) for other in others):
            return False  # left out, and nobody is blamed
        return self._record(author, valid=trusted)

    def _verifiers(self, author: int) -> tuple[int, int]:
        barred = {author} if self.colluding else {author, *self.attackers}
        others = [other for other in range(self.volunteers) if other not in barred]
        first, second = self.draw.choice(others, 2, replace=False).tolist()
        return first, second

    def _repeat(
        self, verifier: int, author: int, results: list[VectorFile], honest: list[VectorFile]
    ) -> VectorFile:
        self.made += 1
        if verifier not in self.attackers:
            return honest[author]
        return results[author if author in self.attackers else verifier]

    def _agree(self, start: VectorFile, result: VectorFile, repeated: VectorFile) -> bool:
        return compare(start, result, repeated).relative <= SAME_DTYPE

    def _record(self, volunteer: int, *, valid: bool) -> bool:
        self.standings[volunteer] = self.standing(volunteer).after(valid)
        return valid
