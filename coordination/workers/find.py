"""Find the worker that a token belongs to."""

from django.db.models import QuerySet

from coordination.leases.keys import digest
from coordination.models import Run, Worker


def worker_of_token(run: Run, token: str) -> Worker | None:
    return registered(run).filter(token_digest=digest(token)).first()


def owner_of(run: Run, name: str) -> Worker | None:
    """The worker that has registered ``name``."""
    return registered(run).filter(name=name).first()


def registered(run: Run) -> QuerySet[Worker]:
    """Said in the words of the constraints' condition, so that databases use their indexes."""
    return Worker.objects.exclude(token_digest="").filter(run=run).order_by()
