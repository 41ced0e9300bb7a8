"""Close a round for merging once it has what it needs."""

from functools import partial

from django.db import transaction

from coordination.clock import now
from coordination.models import Lease, Result, Round, Run, Unit, touch


@transaction.atomic
def close_if_ready(round_id: int) -> bool:
    """Flip an open round to merging and record which results take part.

    Ready means the target number of results, or the deadline with at least the minimum.
    Safe to call at any time, twice, and from two processes.
    """
    locked = Round.objects.select_for_update(of=("self",))
    round_ = locked.select_related("run").get(pk=round_id)
    run = round_.run
    if round_.state != Round.State.OPEN or run.state != Run.State.OPEN:
        return False
    held = Result.objects.filter(unit__round=round_, holds_unit=True, state=Result.State.WAITING)
    participants = list(held.order_by("unit__shard").values_list("pk", flat=True))
    if not _is_enough(len(participants), round_, run):
        return False
    _end_leases(round_)
    round_.state, round_.participants = Round.State.MERGING, participants
    round_.attempt += 1
    round_.merge_claimed_at = None
    round_.save(update_fields=["state", "participants", "attempt", "merge_claimed_at"])
    touch(run.pk)
    _nudge_merge(round_.pk)
    return True


def _is_enough(count: int, round_: Round, run: Run) -> bool:
    overdue = now() >= round_.deadline_at
    return count >= run.target_results or (overdue and count >= run.min_results)


def _end_leases(round_: Round) -> None:
    live = Lease.objects.filter(unit__round=round_, state=Lease.State.LIVE)
    live.update(state=Lease.State.EXPIRED)
    Unit.objects.filter(round=round_, state=Unit.State.LEASED).update(state=Unit.State.FREE)


def _nudge_merge(round_id: int) -> None:
    from coordination.tasks import (
        merge_round,  # tasks import the verbs, this one included
    )

    # Robust: what was committed stands, and a broker that is away must not make it look refused.
    transaction.on_commit(partial(merge_round.delay, round_id), robust=True)
