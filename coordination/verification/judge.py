"""Compare a repetition with the result it repeats, and reach a verdict.

One agreeing repetition is enough. A differing one may itself be the wrong one, so others are
asked until two of them agree, for the author or against: what the author says of its own work
decides nothing. Where that needs somebody who cannot be had, the majority of those who spoke
decides, and without one a proven worker's word stands against an unproven one's; otherwise the
result is left out and nobody is blamed. Whoever is outvoted loses their standing.
"""

from dataclasses import asdict, dataclass
from math import isfinite

from coordination.aggregation.compare import Distance, compare
from coordination.models import Check, Lease, Result, Run, Snapshot, Unit
from coordination.storage import result_vector, snapshot_vector
from coordination.trust.record import record_check
from coordination.verification.begin import ask_for_repetition
from coordination.verification.finish import finish_check
from coordination.verification.tolerance import tolerance
from coordination.verification.verifiers import verifiers


@dataclass(frozen=True)
class Opinion:
    """One repetition against one earlier file of the same task, as it is kept in evidence.
    ``lease`` and ``against`` are the leases that brought the two."""

    lease: int
    against: int
    workers: list[str]
    relative: float | None
    cosine: float
    tolerance: float
    dtypes: list[str]
    devices: list[str]
    agrees: bool


def repetitions(target: Result) -> list[Result]:
    """What verifiers have sent for ``target``, oldest first."""
    sent = Result.objects.filter(unit__target=target, unit__job=Unit.Job.VERIFY)
    return list(sent.filter(state=Result.State.USED).order_by("unit_id"))


def opinions_of(run: Run, target: Result, repeated: Result) -> list[Opinion]:
    """``repeated`` against the author's file and every earlier repetition. Reads whole vectors:
    call it before the transaction."""
    start = snapshot_vector(Snapshot.objects.get(run=run, number=target.unit.round.number))
    vector = result_vector(repeated)
    return [
        _opinion(other, repeated, compare(start, result_vector(other), vector))
        for other in (target, *repetitions(target))
    ]


def _opinion(other: Result, repeated: Result, distance: Distance) -> Opinion:
    limit = tolerance(other.dtype, repeated.dtype)
    relative = distance.relative
    return Opinion(
        lease=repeated.lease_id,
        against=other.lease_id,
        workers=[other.lease.worker.name, repeated.lease.worker.name],
        relative=round(relative, 9) if isfinite(relative) else None,
        cosine=round(distance.cosine, 9),
        tolerance=limit,
        dtypes=[other.dtype, repeated.dtype],
        devices=[other.device, repeated.device],
        agrees=relative <= limit,
    )


def judge(run: Run, target: Result, opinions: list[Opinion]) -> None:
    """Add the newest repetition's opinions to the evidence and decide if that is possible.

    Call it with the workers of ``involved`` and the round locked.
    """
    check = Check.objects.select_for_update().get(result=target)
    check.evidence = [*check.evidence, *map(asdict, opinions)]
    check.save(update_fields=["evidence"])
    with_author, *with_others = (opinion.agrees for opinion in opinions)
    if with_author and (not with_others or _in_favour(check) > 1):
        _decide(check, Check.State.VALID)
    elif not with_author and any(with_others):
        _decide(check, Check.State.INVALID)
    elif _may_be_settled(len(opinions), with_author) and verifiers(target).exists():
        ask_for_repetition(target)
    else:
        decide_at_last(run, check)


def _may_be_settled(repetitions: int, with_author: bool) -> bool:
    """Whether one more repetition can make two that agree; three that differ are enough."""
    return repetitions == 1 or (repetitions == 2 and with_author)


def decide_at_last(run: Run, check: Check) -> None:
    """End a dispute with what has been said so far."""
    spoke = 1 + len(repetitions(check.result))
    if 2 * (1 + _in_favour(check)) > spoke:
        _decide(check, Check.State.VALID)
    else:
        _decide_by_standing(run, check)


def _decide_by_standing(run: Run, check: Check) -> None:
    policy, target = run.check_policy, check.result
    author = policy.is_proven(target.lease.worker.standing)
    others = [policy.is_proven(sent.lease.worker.standing) for sent in repetitions(target)]
    if author == any(others):
        finish_check(check, Check.State.UNDECIDED)
    else:
        _decide(check, Check.State.VALID if author else Check.State.INVALID)


def _decide(check: Check, state: Check.State) -> None:
    """Finish the check and let the standing of author and verifiers follow from it."""
    valid = state == Check.State.VALID
    finish_check(check, state)
    record_check(check.result.lease.worker_id, valid)
    outvoted = [lease for lease, agrees in _on_author(check) if agrees != valid]
    for worker in Lease.objects.filter(pk__in=outvoted).values_list("worker", flat=True):
        record_check(worker, False)


def _in_favour(check: Check) -> int:
    """How many repetitions agree with the author."""
    return sum(agrees for _, agrees in _on_author(check))


def _on_author(check: Check) -> list[tuple[int, bool]]:
    """The lease of each repetition, and whether it agrees with the author."""
    author = check.result.lease_id
    said = (opinion for opinion in check.evidence if opinion["against"] == author)
    return [(opinion["lease"], opinion["agrees"]) for opinion in said]
