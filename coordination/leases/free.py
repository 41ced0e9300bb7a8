"""What an ended lease leaves behind."""

from coordination.models import Lease, Unit


def free_unit(unit_id: int) -> None:
    """Make a leased unit free again unless another lease of it lives."""
    live = Lease.objects.filter(unit=unit_id, state=Lease.State.LIVE)
    if not live.exists():
        Unit.objects.filter(pk=unit_id, state=Unit.State.LEASED).update(state=Unit.State.FREE)


def bar_from_check(lease: Lease) -> None:
    """A check that came to nothing goes to somebody else, so that nobody can sit on it."""
    if lease.unit.is_check:
        lease.unit.barred.add(lease.worker_id)


def bar_after_refusal(lease: Lease) -> None:
    """Whose answer to a check or an evaluation was refused would give the same again."""
    if lease.unit.job != Unit.Job.TRAIN:
        lease.unit.barred.add(lease.worker_id)
