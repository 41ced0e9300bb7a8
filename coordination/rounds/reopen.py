"""Reopen a round whose results were mostly screened out; pause the run if that does not help."""

from datetime import timedelta

from django.db import transaction

from coordination.clock import now
from coordination.models import Result, Round, Unit, touch
from coordination.rounds.pause import pause_run

MAX_REOPENINGS = 3


@transaction.atomic
def reopen_round(merging: Round, screened: list[Result]) -> bool:
    """Free the screened units, barred to the same worker, and open the round again.

    ``screened`` carry their reasons as ``code``. After ``MAX_REOPENINGS`` the run is paused with
    the reason; resuming it gives the round as many tries again. The outer state is untouched
    either way.
    """
    locked = Round.objects.select_for_update(of=("self",))
    round_ = locked.select_related("run").get(pk=merging.pk)
    if round_.state != Round.State.MERGING or round_.attempt != merging.attempt:
        return False
    for result in screened:
        _let_go(result)
    round_.state, round_.participants = Round.State.OPEN, []
    round_.reopenings += 1
    round_.deadline_at = now() + timedelta(seconds=round_.run.round_seconds)
    round_.save(update_fields=["state", "participants", "reopenings", "deadline_at"])
    if round_.reopenings > MAX_REOPENINGS:
        reason = f"round {round_.number}: too few results passed the screen {MAX_REOPENINGS} times"
        pause_run(round_.run, reason)
    touch(round_.run_id)
    return True


def _let_go(result: Result) -> None:
    result.state, result.holds_unit, result.sketch = Result.State.SCREENED, False, None
    result.save(update_fields=["state", "code", "holds_unit", "sketch"])
    unit = Unit.objects.get(pk=result.unit_id)
    unit.barred.add(result.lease.worker)
    Unit.objects.filter(pk=unit.pk).update(state=Unit.State.FREE)
