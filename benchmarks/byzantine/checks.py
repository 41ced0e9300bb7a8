"""Verification in the lab: who is checked follows the real policy, verdicts the real comparison.

A verifier is drawn from all others. Attackers who collude verify too: they vouch for each other
and send another result for everybody else's task. A task whose result intake refuses or checks find
wrong is leased again, to anybody, as a coordinator does.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from coordination.aggregation.compare import compare
from coordination.aggregation.vectors import VectorFile
from coordination.trust.policy import CheckPolicy, Standing, weight
from coordination.verification.tolerance import SAME_DTYPE

SECRET = b"of the lab"
ATTEMPTS = 4  # at a task, before the round is over


class Work(NamedTuple):
    """A round's tasks, as many as volunteers: ``sent`` is what their authors send, ``honest``
    what the recipe makes of each."""

    round: int
    start: VectorFile
    sent: list[VectorFile]
    honest: list[VectorFile]


class Taken(NamedTuple):
    """A result that stands: what it may weigh, and whether it is beyond doubt."""

    weight: float = 1.0
    trusted: bool = False


@dataclass
class Checks:
    """``attackers`` are volunteers by number; ``colluding`` ones offer to verify. ``draw`` says
    who verifies and ``leases`` who trains again, so that neither depends on the other."""

    volunteers: int
    attackers: frozenset[int]
    colluding: bool
    draw: np.random.Generator
    leases: np.random.Generator
    policy: CheckPolicy = field(default_factory=CheckPolicy)
    standings: dict[int, Standing] = field(default_factory=dict)
    checked: int = 0

    def standing(self, volunteer: int) -> Standing:
        return self.standings.get(volunteer, Standing())

    def takers(self, author: int) -> Iterator[int]:
        """Who trains the author's task, one after the other: the author, then whoever leases it
        again, proven volunteers before others as a coordinator has it."""
        yield author
        others = [other for other in range(self.volunteers) if other != author]
        self.leases.shuffle(others)
        others.sort(key=lambda other: not self.policy.is_proven(self.standing(other)))
        yield from others[: ATTEMPTS - 1]

    def judge(self, work: Work, author: int, taker: int) -> Taken | None:
        """What ``taker``'s result for the author's task is worth; None when it is found wrong."""
        before = self.standing(taker)
        if not self.policy.must_check(before, SECRET, work.round, author, taker):
            return Taken(weight(before, False), self.policy.is_proven(before))
        if self._is_valid(work, author, taker):
            return Taken(weight(before, True), trusted=True)
        return None

    def made(self, work: Work, author: int, volunteer: int) -> VectorFile:
        """What ``volunteer`` sends for the author's task, as its own result or as a check."""
        if volunteer not in self.attackers:
            return work.honest[author]
        return work.sent[author if author in self.attackers else volunteer]

    def _is_valid(self, work: Work, author: int, taker: int) -> bool:
        """One agreeing repetition is enough; after one that differs a second one decides."""
        result = self.made(work, author, taker)
        first, second = self._verifiers(taker)
        repeated = self._repeat(work, author, first)
        if self._agree(work, result, repeated):
            return self._record(taker, valid=True)
        other = self._repeat(work, author, second)
        if self._agree(work, result, other):
            self._record(first, valid=False)
            return self._record(taker, valid=True)
        if self._agree(work, repeated, other):
            return self._record(taker, valid=False)
        return self._decide_by_standing(taker, (first, second))

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

    def _repeat(self, work: Work, author: int, verifier: int) -> VectorFile:
        self.checked += 1
        return self.made(work, author, verifier)

    def _agree(self, work: Work, result: VectorFile, repeated: VectorFile) -> bool:
        return compare(work.start, result, repeated).relative <= SAME_DTYPE

    def _record(self, volunteer: int, *, valid: bool) -> bool:
        self.standings[volunteer] = self.standing(volunteer).after(valid)
        return valid
