"""Find the worker that a token belongs to."""

from coordination.leases.keys import digest
from coordination.models import Run, Worker


def worker_of_token(run: Run, token: str) -> Worker | None:
    return Worker.objects.filter(run=run, token_digest=digest(token)).first()


def owner_of(run: Run, name: str) -> Worker | None:
    """The worker that has registered ``name``."""
    return Worker.objects.exclude(token_digest="").filter(run=run, name=name).first()
