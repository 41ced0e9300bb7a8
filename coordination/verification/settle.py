"""Let go of checks that nobody will make, so that no result waits for ever."""

from datetime import timedelta

from django.db import transaction

from coordination.clock import now
from coordination.models import Check, Lease, Result, Round, Unit, touch
from coordination.trust.record import lock_workers
from coordination.verification.finish import finish_check
from coordination.verification.judge import decide_by_standing
from coordination.verification.judge_losses import decide_by_losses, is_about_losses
from coordination.verification.verifiers import checkers, involved


def settle_checks(round_: Round) -> int:
    """End every pending check of an open round that has nobody to make it; returns how many.

    With nobody left who could check a result, it counts and is recorded as unverified; after a
    first repetition that differed, the better standing decides once the deadline is there. A
    round's length after its deadline no check is waited for any longer, so that workers who
    offer to verify and never do cannot keep a round open. Safe to call at any time.
    """
    pending = Check.objects.filter(result__unit__round=round_, state=Check.State.PENDING)
    return sum(_settle(pk) for pk in list(pending.values_list("pk", flat=True)))


@transaction.atomic
def _settle(pk: int) -> bool:
    check = Check.objects.select_related("result__unit__round__run").get(pk=pk)
    lock_workers(involved(check.result).values_list("worker", flat=True))
    round_ = Round.objects.select_for_update().get(pk=check.result.unit.round_id)
    check.refresh_from_db()
    if check.state != Check.State.PENDING or round_.state != Round.State.OPEN:
        return False
    if not _is_hopeless(check.result, round_, disputed=bool(check.evidence)):
        return False
    run = check.result.unit.round.run
    if is_about_losses(check):
        decide_by_losses(run, check)
    elif check.evidence:
        decide_by_standing(run, check)
    else:
        finish_check(check, Check.State.WAIVED)
    touch(run.pk)
    return True


def _is_hopeless(result: Result, round_: Round, *, disputed: bool) -> bool:
    late = now() - round_.deadline_at
    if late >= timedelta(seconds=round_.run.round_seconds):
        return True
    if disputed and late < timedelta(0):
        return False
    jobs = Unit.objects.filter(target=result)
    under_way = Lease.objects.filter(unit__in=jobs, state=Lease.State.LIVE).exists()
    return not under_way and not checkers(result).exists()


def leave_out_unverified(round_: Round) -> None:
    """At publication: what was still under check when the round closed stays outside."""
    waiting = Check.objects.filter(result__unit__round=round_, state=Check.State.PENDING)
    results = list(waiting.values_list("result", flat=True))
    Result.objects.filter(pk__in=results).update(state=Result.State.UNVERIFIED, sketch=None)
    waiting.update(state=Check.State.LATE, decided_at=now())
