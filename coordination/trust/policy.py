"""Whose results are checked, how often, and what the checks do to a worker's standing.

Adaptive replication as BOINC does it (https://github.com/BOINC/boinc/wiki/Adaptive-replication):
an unproven worker is checked always, a proven one with probability 1 / consecutive valid checks,
never below a floor, and one invalid result starts everything anew. Pure: no clock, no database,
no state; the same arguments give the same answer.
"""

import hashlib
import hmac
from dataclasses import dataclass, replace

DRAWN_BITS = 53  # as many as a float holds exactly


@dataclass(frozen=True)
class Standing:
    """What checks have shown of one worker. Only a result that was checked changes it: what
    nobody repeated is no evidence. ``Standing()`` is a stranger's."""

    consecutive_valid: int = 0
    valid: int = 0
    invalid: int = 0

    def after(self, valid: bool) -> "Standing":
        """The standing after one more check; an invalid result takes all that was earned."""
        if valid:
            return replace(self, consecutive_valid=self.consecutive_valid + 1, valid=self.valid + 1)
        return replace(self, consecutive_valid=0, invalid=self.invalid + 1)


@dataclass(frozen=True)
class CheckPolicy:
    """``proven_after`` consecutive valid checks (>= 1) make a worker a proven one, whose results
    are checked with a probability of at least ``floor`` (0 to 1) each."""

    proven_after: int = 10
    floor: float = 0.1

    def __post_init__(self) -> None:
        if self.proven_after < 1 or not 0 <= self.floor <= 1:
            raise ValueError(
                f"proven_after {self.proven_after} must be 1 or more and floor {self.floor} "
                "between 0 and 1"
            )

    def is_proven(self, standing: Standing) -> bool:
        return standing.consecutive_valid >= self.proven_after

    def probability(self, standing: Standing) -> float:
        """How likely the worker's next result is checked."""
        if not self.is_proven(standing):
            return 1.0
        return max(self.floor, 1 / standing.consecutive_valid)

    def must_check(self, standing: Standing, secret: bytes, *result: object) -> bool:
        """Whether this result is checked: always the same answer for the same arguments.

        ``secret`` is the run's, unknown to workers: who could work out the draw would cheat only
        where nobody looks. ``result`` names the result, with nothing in it that its author
        chooses, such as its digest: round, shard and attempt.
        """
        return draw(secret, *result) < self.probability(standing)


def draw(secret: bytes, *names: object) -> float:
    """A number in [0, 1) that follows from the arguments and looks random without ``secret``."""
    message = ":".join(map(str, names)).encode()
    digest = hmac.new(secret, message, hashlib.sha256).digest()
    return (int.from_bytes(digest[:8], "big") >> (64 - DRAWN_BITS)) / 2**DRAWN_BITS


def weight(standing: Standing, verified: bool) -> float:
    """What a result may weigh in the merge: 1 when it was repeated and found right, else how
    likely the worker's next result is right after so many in a row, by Laplace's rule of
    succession: 1/2 for a stranger, 11/12 after ten."""
    if verified:
        return 1.0
    return (standing.consecutive_valid + 1) / (standing.consecutive_valid + 2)


@dataclass(frozen=True)
class Quota:
    """How many tasks an hour a worker may take. It falls by half with an error and doubles with
    an accepted result; it never falls to nothing, so that a repaired computer comes back."""

    full: int = 1024

    def after_error(self, quota: int) -> int:
        return max(1, min(quota, self.full) // 2)

    def after_success(self, quota: int) -> int:
        return min(self.full, max(1, quota) * 2)
