"""What commands about one run share."""

from argparse import ArgumentParser

from django.core.management.base import BaseCommand, CommandError

from coordination.models import Run, Snapshot
from coordination.storage import blobs


class RunCommand(BaseCommand):
    requires_system_checks = ()  # they take as long as the command itself

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", help="the run's slug, as in /c/SLUG")


def find_run(slug: str) -> Run:
    run = Run.objects.filter(slug=slug).first()
    if run is None:
        known = ", ".join(Run.objects.values_list("slug", flat=True)[:20]) or "none yet"
        raise CommandError(f"no run {slug!r}; known: {known}")
    return run


def find_snapshot(run: Run, number: int | None) -> Snapshot:
    """Snapshot ``number``, or the newest one."""
    kept = Snapshot.objects.filter(run=run, deleted_at=None)
    chosen = kept.filter(number=number) if number else kept.order_by("-number")
    snapshot = chosen.first()
    if snapshot is None:
        raise CommandError(f"{run.slug} has no snapshot {number}; see run_status {run.slug}")
    return snapshot


def snapshot_path(run: Run, number: int | None) -> str:
    """Its file."""
    return str(blobs().path(find_snapshot(run, number).sha256))
