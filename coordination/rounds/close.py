"""Close a round for merging once it has what it needs."""

from datetime import datetime

from django.db import transaction

from coordination.clock import now
from coordination.models import Check, Lease, Result, Round, Run, Unit, touch
from coordination.rounds.grace import grace_end


@transaction.atomic
def close_if_ready(round_id: int) -> bool:
    """Flip an open round to merging and record which results take part.

    Ready means the target number of results, the quorum and a grace period after it, or the
    deadline with at least the minimum.
    Safe to call at any time, twice, and from two processes.
    """
    locked = Round.objects.select_for_update(of=("self",))
    round_ = locked.select_related("run").get(pk=round_id)
    run = round_.run
    if round_.state != Round.State.OPEN or run.state != Run.State.OPEN:
        return False
    standing = countable(round_)
    if not _is_enough(standing, round_, run):
        return False
    participants = [result.pk for result in standing]
    _end_leases(round_)
    round_.state, round_.participants = Round.State.MERGING, participants
    round_.attempt += 1
    round_.merge_claimed_at = None
    round_.save(update_fields=["state", "participants", "attempt", "merge_claimed_at"])
    touch(run.pk)
    _nudge_merge(round_.pk)
    return True


def countable(round_: Round) -> list[Result]:
    """Results that would be merged now, by shard: one under check is held out until its verdict."""
    trained = Result.objects.filter(unit__round=round_, unit__job=Unit.Job.TRAIN, holds_unit=True)
    waiting = trained.filter(state=Result.State.WAITING)
    held_out = waiting.filter(verification__state=Check.State.PENDING)
    settled = waiting.exclude(pk__in=held_out).select_related("verification")
    return list(settled.order_by("unit__shard"))


def _is_enough(standing: list[Result], round_: Round, run: Run) -> bool:
    count, seconds = len(standing), (now() - round_.opened_at).total_seconds()
    if count >= run.target_results:
        return True
    if run.quorum and count >= run.quorum:
        arrivals = [(_counted_at(result) - round_.opened_at).total_seconds() for result in standing]
        if seconds >= grace_end(arrivals, run.grace_factor):
            return True
    return now() >= round_.deadline_at and count >= run.min_results


def _counted_at(result: Result) -> datetime:
    """When the result began to count: when it came or, if it was checked, at the verdict."""
    check = getattr(result, "verification", None)
    return check.decided_at if check else result.created_at


def _end_leases(round_: Round) -> None:
    units = Unit.objects.filter(round=round_, snapshot=None)  # evaluation goes on
    live = Lease.objects.filter(unit__in=units, state=Lease.State.LIVE)
    live.update(state=Lease.State.EXPIRED)
    units.filter(state=Unit.State.LEASED).update(state=Unit.State.FREE)


def _nudge_merge(round_id: int) -> None:
    from coordination.tasks import (
        merge_round,  # tasks import the verbs, this one included
    )

    # Robust: what was committed stands, and a broker that is away must not make it look refused.
    # No partial: Django names what failed by its __qualname__.
    transaction.on_commit(lambda: merge_round.delay(round_id), robust=True)
