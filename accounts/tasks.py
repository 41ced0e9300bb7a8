"""Celery's way to the verbs."""

from celery import shared_task

from accounts.keys import warn


@shared_task(ignore_result=True)
def warn_of_expiry() -> None:
    warn.warn_of_expiry()
