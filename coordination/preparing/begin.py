"""Have a prepared chunk checked by this server itself, if the draw asks for it."""

from coordination.models import Check, Result, Run, Unit, Worker
from coordination.preparing.nudge import nudge
from coordination.trust.policy import CheckPolicy, Standing
from coordination.verification.begin import draw_secret


def begin_chunk_check(run: Run, result: Result) -> Check | None:
    """The new check of rows just taken in, or None when they need none. Call it inside the
    transaction that takes them in.

    A worker's first chunk is always checked, later ones with a probability of one in as many as
    were found right in a row, never below the run's floor. What it has earned by training does not
    count here, nor this there: the two are different things to be honest about.
    """
    nudge(run)
    standing, policy = standing_of(result.lease.worker), CheckPolicy(1, run.check_floor)
    if not policy.must_check(standing, draw_secret(run), result.lease.token):
        return None
    reason = Check.Reason.DRAWN if policy.is_proven(standing) else Check.Reason.UNPROVEN
    return Check.objects.create(result=result, reason=reason)


def standing_of(worker: Worker) -> Standing:
    """What checks have shown of the worker's chunks since one was found wrong."""
    checks = Check.objects.filter(
        result__lease__worker=worker, result__unit__job=Unit.Job.PREPROCESS
    )
    wrong = checks.filter(state=Check.State.INVALID)
    right = checks.filter(state=Check.State.VALID)
    if last := wrong.order_by("-decided_at").first():
        right = right.filter(decided_at__gt=last.decided_at)
    return Standing(consecutive_valid=right.count())
