"""Take a unit back from whoever holds it, so that somebody else can train it."""

from django.db import transaction

from coordination.models import Lease, Round, Unit, touch


@transaction.atomic
def requeue_unit(unit: Unit) -> bool:
    """End the unit's live lease and free it; False when it is not leased or its round is over.

    The worker hears ``devam: false`` at its next report; if it delivers before anybody else
    does, its result still counts.
    """
    round_ = Round.objects.select_for_update().get(pk=unit.round_id)
    if round_.state != Round.State.OPEN and not unit.outlives_round:
        return False
    leased = Unit.objects.filter(pk=unit.pk, state=Unit.State.LEASED)
    if not leased.update(state=Unit.State.FREE):
        return False
    Lease.objects.filter(unit=unit, state=Lease.State.LIVE).update(state=Lease.State.EXPIRED)
    touch(round_.run_id)
    return True
