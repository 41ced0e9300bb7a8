"""End a check: its verdict, what becomes of the result, and of work on it that is under way."""

from coordination.clock import now
from coordination.models import Check, Lease, Result, Unit

DIFFERS = "dogrulama_tutmadi"
IMPLAUSIBLE = "olcum_tutmadi"


def finish_check(check: Check, state: Check.State) -> None:
    """Set a pending check's verdict. Call it with the round locked.

    A result found wrong, or one about which the others differ, leaves the round, and its shard
    is free again for anybody else; else the result stands.
    """
    check.state, check.decided_at = state, now()
    check.save(update_fields=["state", "decided_at"])
    jobs = Unit.objects.filter(target=check.result)
    Lease.objects.filter(unit__in=jobs, state=Lease.State.LIVE).update(state=Lease.State.EXPIRED)
    jobs.update(state=Unit.State.DONE)
    if state == Check.State.INVALID:
        let_go(check.result, Result.State.SCREENED, DIFFERS)
    elif state == Check.State.IMPLAUSIBLE:
        let_go(check.result, Result.State.SCREENED, IMPLAUSIBLE)
    elif state == Check.State.UNDECIDED:
        let_go(check.result, Result.State.UNVERIFIED, "")


def let_go(result: Result, state: Result.State, code: str) -> None:
    """The result counts no more, and its unit is free for anybody else."""
    result.state, result.code, result.holds_unit, result.sketch = state, code, False, None
    result.save(update_fields=["state", "code", "holds_unit", "sketch"])
    result.unit.barred.add(result.lease.worker)
    Unit.objects.filter(pk=result.unit_id).update(state=Unit.State.FREE)
