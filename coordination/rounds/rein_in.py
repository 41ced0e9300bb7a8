"""Bring back what a clock that was set back left too far in the future."""

from datetime import timedelta

from coordination.clock import now
from coordination.models import Lease, Round, Run


def rein_in(run: Run) -> None:
    """Let no lease, deadline or merge claim of ``run`` last longer than one that begins now.

    Whatever was made by a clock that ran ahead would otherwise hold until the right clock gets
    there, which may be years. Two servers whose clocks differ shorten by the difference at most.
    """
    at = now()
    lease_end = at + timedelta(seconds=run.lease_seconds)
    deadline = at + timedelta(seconds=run.round_seconds)
    live = Lease.objects.filter(unit__round__run=run, state=Lease.State.LIVE)
    live.filter(expires_at__gt=lease_end).update(expires_at=lease_end)
    rounds = Round.objects.filter(run=run).exclude(state=Round.State.PUBLISHED)
    rounds.filter(deadline_at__gt=deadline).update(deadline_at=deadline)
    rounds.filter(merge_claimed_at__gt=at).update(merge_claimed_at=at)
