"""Celery's way to what joins the applications."""

from celery import shared_task

from modelen_site.heartbeat import send_own


@shared_task(ignore_result=True)
def send_own_heartbeats() -> None:
    send_own()
