"""The Celery application. Its queue is a nudge: what must happen is in the database."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "modelen_site.settings")

app = Celery("modelen")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
