"""Celery's way to the verbs. A message carries an id; the database carries the state."""

from celery import shared_task

from portal.heartbeats.presence import watch
from portal.heartbeats.uptime import forget_old_days
from portal.verification import retain, schedule
from portal.verification.check import run_check


@shared_task(ignore_result=True)
def check_address(attempt_id: int) -> None:
    run_check(attempt_id)


@shared_task(ignore_result=True)
def schedule_checks() -> None:
    schedule.schedule_checks()


@shared_task(ignore_result=True)
def forget_old_evidence() -> None:
    retain.forget_old_evidence()


@shared_task(ignore_result=True)
def watch_presence() -> None:
    watch()


@shared_task(ignore_result=True)
def forget_old_uptime() -> None:
    forget_old_days()
