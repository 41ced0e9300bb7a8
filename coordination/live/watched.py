"""What those who watch a run's page are told; how they are told is the site's business."""

from coordination.live.snapshot import page_snapshot
from coordination.models import Run

INTERVAL_S = 0.5
# Workers fall silent without a trace in the database, and a page can tell a quiet run from a dead
# connection.
REFRESH_S = 15.0


def find(slug: str) -> int | None:
    """The key of a run, if there is one of that name."""
    return Run.objects.filter(slug=slug).values_list("pk", flat=True).first()


def versions(run_ids: list[int]) -> dict[int, int]:
    """A number for each run that rises with every change a watcher can see."""
    return dict(Run.objects.filter(pk__in=run_ids).values_list("pk", "version"))


def message(run_id: int, version: int) -> dict:
    """The whole snapshot, whose version may be a newer one than was noticed."""
    return page_snapshot(Run.objects.get(pk=run_id))
