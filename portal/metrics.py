"""What Prometheus is told of the portal."""

from collections.abc import Iterator

from django.db.models import Count
from prometheus_client.core import GaugeMetricFamily, Metric

from portal.models import Coordinator, CoordinatorQuerySet, Presence, State


def metrics() -> Iterator[Metric]:
    """How many coordinators there are by state of their listing, and by presence of the listed."""
    about = "Coordinators by state of their listing."
    states = GaugeMetricFamily("modelen_portal_coordinators", about, labels=("state",))
    _fill(states, Coordinator.objects.all(), "state", State.values)
    yield states
    about = "Coordinators in the directory by presence."
    presences = GaugeMetricFamily("modelen_portal_listed_coordinators", about, labels=("presence",))
    _fill(presences, Coordinator.objects.listed(), "presence", Presence.values)
    yield presences


def _fill(
    metric: GaugeMetricFamily, rows: CoordinatorQuerySet, field: str, values: list[str]
) -> None:
    counts = dict(rows.order_by().values_list(field).annotate(Count("pk")))
    for value in values:
        metric.add_metric([value], counts.get(value, 0))
