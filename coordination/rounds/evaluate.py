"""Give a snapshot away for evaluation, once for each language of the run's held-out data."""

from coordination.models import HeldOut, Round, Snapshot, Unit


def ask_for_evaluation(snapshot: Snapshot, round_: Round) -> None:
    """Work that belongs to ``round_`` and that it never waits for.

    Call it inside the transaction that saves the snapshot.
    """
    Unit.objects.bulk_create(
        Unit(
            round=round_,
            shard=0,
            job=Unit.Job.EVALUATE,
            snapshot=snapshot,
            held_out=held_out,
        )
        for held_out in HeldOut.objects.filter(run=snapshot.run_id)
    )
