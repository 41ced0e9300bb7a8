"""Bring a run's preparation as far as it goes now: repeat what is to be checked, then mix."""

from coordination.child import ChildFailed
from coordination.models import Check, Run
from coordination.preparing.alone import alone
from coordination.preparing.check import check_chunk
from coordination.preparing.counts import pending_checks
from coordination.preparing.mix import finish_preparation
from coordination.rounds.pause import pause_run
from coordination.store.local import BlobMissing


def advance(run_id: int) -> bool:
    """True if the run's shards were made by this call. Safe to call at any time, twice, and from
    two processes; killed at any instant, it is done again and ends with the same bytes.

    What fails pauses the run, with the reason; resuming it tries again.
    """
    with alone(run_id) as may:
        run = Run.objects.get(pk=run_id)
        if not may or run.state != Run.State.READY:
            return False
        try:
            while pending := pending_checks(run):
                check_chunk(Check.objects.get(pk=pending[0]))
            return finish_preparation(run)
        except (BlobMissing, ChildFailed) as failed:
            pause_run(run, f"preparing the text: {failed}")
            return False
