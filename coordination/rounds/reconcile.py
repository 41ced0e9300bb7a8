"""Finish whatever a crash, a lost message or a silent worker left half-way."""

from coordination.leases.expire import expire_leases
from coordination.models import Round, Run
from coordination.rounds.close import close_if_ready
from coordination.rounds.merge import merge_closed_round
from coordination.rounds.rein_in import rein_in
from coordination.verification.settle import settle_checks


def reconcile() -> None:
    """One idempotent pass over every unpublished round."""
    for run in Run.objects.filter(state__in=(Run.State.OPEN, Run.State.PAUSED)):
        rein_in(run)
    expire_leases()
    unpublished = Round.objects.exclude(state=Round.State.PUBLISHED)
    for round_ in unpublished.filter(run__state=Run.State.OPEN).order_by("pk"):
        if round_.state == Round.State.OPEN:
            settle_checks(round_)
            close_if_ready(round_.pk)
        else:
            merge_closed_round(round_.pk)
