"""What those who watch a coordinator's page are told; how they are told is the site's business."""

from typing import Any

from portal.models import Coordinator

INTERVAL_S = 1.0


def find(slug: str) -> int | None:
    """The key of a coordinator in the directory, if there is one of that name."""
    return Coordinator.objects.listed().filter(slug=slug).values_list("pk", flat=True).first()


def versions(pks: list[int]) -> dict[int, str]:
    """A text for each coordinator that changes with all that its page shows."""
    rows = Coordinator.objects.filter(pk__in=pks)
    told = rows.values_list("pk", "heartbeat_seq", "presence", "proof", "revision")
    return {pk: "-".join(map(str, parts)) for pk, *parts in told}


def message(pk: int, version: str) -> dict[str, Any]:
    """The version alone: the page fetches its own HTML, in its own language."""
    return {"version": version}
