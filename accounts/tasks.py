"""Celery's way to the verbs."""

from celery import shared_task

from accounts import forget
from accounts.keys import warn


@shared_task(ignore_result=True)
def warn_of_expiry() -> None:
    warn.warn_of_expiry()


@shared_task(ignore_result=True)
def forget_old_origins() -> None:
    forget.forget_old_origins()
