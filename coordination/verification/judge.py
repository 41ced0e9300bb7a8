"""Compare a repetition with the result it repeats, and reach a verdict.

One agreeing repetition is enough. A differing one may itself be the wrong one, so a second
verifier is asked and two against one decide; whoever is outvoted loses their standing. When the
three differ, or no third can be had, a proven worker's word stands against an unproven one's;
otherwise the result is left out and nobody is blamed.
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
    agrees_with_author, *agrees_with_others = (opinion.agrees for opinion in opinions)
    if agrees_with_author:
        _decide(check, Check.State.VALID)
    elif any(agrees_with_others):
        _decide(check, Check.State.INVALID)
    elif agrees_with_others or not verifiers(target).exists():
        decide_by_standing(run, check)
    else:
        ask_for_repetition(target)


def decide_by_standing(run: Run, check: Check) -> None:
    """End a dispute that no majority will end."""
    policy, target = run.check_policy, check.result
    author = policy.is_proven(target.lease.worker.standing)
    others = [policy.is_proven(sent.lease.worker.standing) for sent in repetitions(target)]
    if author == any(others):
        finish_check(check, Check.State.UNDECIDED)
    else:
        _decide(check, Check.State.VALID if author else Check.State.INVALID)


def _decide(check: Check, state: Check.State) -> None:
    """Finish the check and let the standing of author and verifiers follow from it."""
    author, valid = check.result.lease, state == Check.State.VALID
    finish_check(check, state)
    record_check(author.worker_id, valid)
    if valid:
        differed = (
            opinion["lease"]
            for opinion in check.evidence
            if opinion["against"] == author.pk and not opinion["agrees"]
        )
        for worker in Lease.objects.filter(pk__in=differed).values_list("worker", flat=True):
            record_check(worker, False)
