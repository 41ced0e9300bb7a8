"""Have a result checked, if its worker's standing or the draw asks for it.

A repetition says most; where it cannot be made, measured losses say something.
"""

from django.conf import settings

from coordination.clock import now
from coordination.models import Check, HeldOut, Result, Run, Unit
from coordination.trust.policy import draw
from coordination.verification.verifiers import can_be_repeated, evaluators, verifiers


def begin_check(run: Run, result: Result) -> Check | None:
    """The new check of a result just taken in, or None when it needs none.

    It waits for a repetition or a measurement if anybody can make one now; else the result counts
    at once and is recorded as unverified. Call it inside the transaction that takes the result in.
    """
    reason = _reason(run, result) if run.verify else None
    if reason is None:
        return None
    check = Check(result=result, reason=reason)
    if can_be_repeated(run, result) and verifiers(result).exists():
        ask_for_repetition(result)
    elif HeldOut.objects.filter(run=run).exists() and evaluators(result).exists():
        ask_for_measurement(run, result)
    else:
        check.state, check.decided_at = Check.State.WAIVED, now()
    check.save()
    return check


def ask_for_repetition(result: Result) -> None:
    """A unit of work for somebody who may repeat the result."""
    unit = result.unit
    Unit.objects.create(round=unit.round, shard=unit.shard, job=Unit.Job.VERIFY, target=result)


def ask_for_measurement(run: Run, result: Result) -> None:
    """A unit of work for somebody who may measure the result, on a language drawn by lot."""
    unit = result.unit
    languages = list(HeldOut.objects.filter(run=run))
    drawn = int(draw(draw_secret(run), "language", result.lease.token) * len(languages))
    Unit.objects.create(
        round=unit.round,
        shard=unit.shard,
        job=Unit.Job.EVALUATE,
        target=result,
        held_out=languages[drawn],
    )


def _reason(run: Run, result: Result) -> Check.Reason | None:
    policy, standing = run.check_policy, result.lease.worker.standing
    # The lease's id is drawn by the server: an author who could choose what is drawn upon
    # would try until the lot passes it over.
    if not policy.must_check(standing, draw_secret(run), result.lease.token):
        return None
    return Check.Reason.DRAWN if policy.is_proven(standing) else Check.Reason.UNPROVEN


def draw_secret(run: Run) -> bytes:
    """What draws for the run follow from, unknown to workers."""
    return settings.LEASE_SECRET + f":checks:{run.pk}:{run.seed}".encode()
