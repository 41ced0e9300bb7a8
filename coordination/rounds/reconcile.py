"""Finish whatever a crash, a lost message or a silent worker left half-way."""

from coordination.leases.expire import expire_leases
from coordination.models import Chunk, Round, Run
from coordination.preparing.forget import forget_text
from coordination.preparing.nudge import nudge_if_due
from coordination.rounds.close import close_if_ready
from coordination.rounds.merge import merge_closed_round
from coordination.rounds.rein_in import rein_in
from coordination.verification.settle import settle_checks


def reconcile() -> None:
    """One idempotent pass over every unpublished round."""
    for run in Run.objects.exclude(state=Run.State.FINISHED):
        rein_in(run)
    expire_leases()
    for run in Run.objects.filter(preparation__prepared_at=None, state=Run.State.READY):
        nudge_if_due(run)
    for run in Run.objects.filter(pk__in=Chunk.objects.exclude(sha256="").values("run")):
        forget_text(run)
    unpublished = Round.objects.exclude(state=Round.State.PUBLISHED)
    for round_ in unpublished.filter(run__state=Run.State.OPEN).order_by("pk"):
        if round_.state == Round.State.OPEN:
            settle_checks(round_)
            close_if_ready(round_.pk)
        else:
            merge_closed_round(round_.pk)
