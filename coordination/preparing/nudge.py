"""Tell Celery that a run's preparation may go on."""

from django.db import transaction

from coordination.models import Run
from coordination.preparing.alone import is_at_work
from coordination.preparing.counts import is_preparing, pending_checks, rows_of_chunks

EXPIRES_S = 60


def nudge(run: Run) -> None:
    """On commit; a message that is lost is sent again by the reconciler."""
    from coordination.tasks import prepare_run  # tasks import the verbs, this one included

    run_id = run.pk
    transaction.on_commit(
        lambda: prepare_run.apply_async((run_id,), expires=EXPIRES_S), robust=True
    )


def nudge_if_due(run: Run) -> bool:
    """Nudge a run that has checks to make or shards to mix, which nobody is at."""
    due = run.state == Run.State.READY and is_preparing(run)
    if not due or is_at_work(run.pk):
        return False
    if not pending_checks(run) and rows_of_chunks(run) is None:
        return False
    nudge(run)
    return True
