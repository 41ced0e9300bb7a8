"""Take a checked file in as its lease's result, if lease and round still want it."""

from collections.abc import Callable, Iterable

from django.db import transaction

from coordination.leases.free import bar_after_refusal, free_unit
from coordination.models import Check, Lease, Result, Round, Run, Unit, Worker, touch
from coordination.trust.record import lock_workers, record_delivery, record_error
from worker_client.contract.errors import Refusal, Refused

# The worker could not help these.
UNLUCKY = (Refusal.UNIT_TAKEN, Refusal.ROUND_CLOSED)


def stored_verdict(lease: Lease, sha256: str) -> Result | None:
    """The earlier verdict on these bytes, if there is one.

    Raises:
        Refused: when that verdict was a refusal.
    """
    result = Result.objects.filter(lease=lease, sha256=sha256).first()
    if result and result.state == Result.State.REFUSED:
        refusal = next(r for r in Refusal if r.code == result.code)
        raise Refused(refusal, result.detail)
    return result


@transaction.atomic
def take_result(
    run: Run, lease: Lease, result: Result, parties: Iterable[int], then: Callable[[], object]
) -> Result:
    """Flip unit and lease under the round's lock, if round and unit still stand.

    ``parties`` are the workers (ids) whose standing may change with it, and ``then`` is what
    follows from it, in the same transaction.

    Raises:
        Refused: ROUND_CLOSED or UNIT_TAKEN.
    """
    lock_workers((lease.worker_id, *parties))
    round_ = Round.objects.select_for_update().get(pk=lease.unit.round_id)
    twin = stored_verdict(lease, result.sha256)
    if twin:
        return twin
    lease.refresh_from_db(fields=["state"])
    demand_wanted(lease, round_)
    result.save()
    Unit.objects.filter(pk=lease.unit_id).update(state=Unit.State.DONE)
    others = Lease.objects.filter(unit=lease.unit, state=Lease.State.LIVE).exclude(pk=lease.pk)
    others.update(state=Lease.State.EXPIRED)
    Lease.objects.filter(pk=lease.pk).update(state=Lease.State.DELIVERED)
    record_delivery(lease)
    then()
    touch(run.pk)
    return result


def demand_wanted(lease: Lease, round_: Round) -> None:
    """Raises Refused when the round is closed, the lease has ended, or the unit is held."""
    if round_.state != Round.State.OPEN and not lease.unit.outlives_round:
        raise Refused(
            Refusal.ROUND_CLOSED,
            f"round {round_.number} has closed without this result",
        )
    held = Result.objects.filter(unit=lease.unit_id, holds_unit=True).exists()
    over = (Lease.State.DELIVERED, Lease.State.REFUSED)
    if held or lease.state in over or _is_moot(lease.unit) or _is_hidden(lease):
        raise Refused(Refusal.UNIT_TAKEN, "another result was taken, or this task has ended")


def _is_moot(unit: Unit) -> bool:
    """Whether the unit is work on a result whose check is over."""
    if not unit.is_check:
        return False
    return not Check.objects.filter(result=unit.target_id, state=Check.State.PENDING).exists()


def _is_hidden(lease: Lease) -> bool:
    """Whether the lease is of text that its worker may no longer see."""
    if lease.unit.job != Unit.Job.PREPROCESS:
        return False
    return not Worker.objects.get(pk=lease.worker_id).is_shown_text


@transaction.atomic
def store_refusal(lease: Lease, sha256: str, size: int, refused: Refused) -> None:
    """Remember a lasting refusal, end the lease and free its unit."""
    lock_workers([lease.worker_id])
    round_ = Round.objects.select_for_update().get(pk=lease.unit.round_id)
    _, is_new = Result.objects.get_or_create(
        lease=lease,
        sha256=sha256,
        defaults={
            "unit": lease.unit,
            "size": size,
            "state": Result.State.REFUSED,
            "code": refused.refusal.code,
            "detail": refused.detail[:500],
        },
    )
    mine = Lease.objects.filter(pk=lease.pk)
    was_live = mine.filter(state=Lease.State.LIVE).update(state=Lease.State.REFUSED)
    mine.filter(state=Lease.State.EXPIRED).update(state=Lease.State.REFUSED)
    if was_live:
        free_unit(lease.unit_id)
        bar_after_refusal(lease)
    if is_new and refused.refusal not in UNLUCKY:
        record_error(lease.worker_id)
    touch(round_.run_id)
