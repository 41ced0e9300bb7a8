"""Celery's way to the verbs. A message carries an id; the database carries the state."""

from celery import shared_task

from coordination.preparing.advance import advance
from coordination.rounds.merge import merge_closed_round
from coordination.rounds.reconcile import reconcile as reconcile_rounds
from coordination.rounds.retain import collect_blobs as collect_unnamed_blobs
from coordination.samples.take import take_due_samples


@shared_task(ignore_result=True)
def merge_round(round_id: int) -> None:
    merge_closed_round(round_id)


@shared_task(ignore_result=True)
def prepare_run(run_id: int) -> None:
    advance(run_id)


@shared_task(ignore_result=True)
def reconcile() -> None:
    reconcile_rounds()


@shared_task(ignore_result=True)
def collect_blobs() -> None:
    collect_unnamed_blobs()


@shared_task(ignore_result=True)
def take_samples() -> None:
    take_due_samples()
