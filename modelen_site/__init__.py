"""The project's frame: settings, addresses, servers. No domain logic."""

from modelen_site.celery import app as celery_app

__all__ = ["celery_app"]
