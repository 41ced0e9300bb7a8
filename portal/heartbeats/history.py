"""The loss over the rounds, in a bounded number of rows."""

from math import ceil

from django.db.models import QuerySet

from portal.models import Coordinator, LossPoint

MAX_POINTS = 240


def remember_loss(coordinator: Coordinator, round_: int, loss: float) -> None:
    """Keep the loss told in a round. Beyond the bound one point is left of each of equal stretches
    of rounds. A round lower than before is a new run's, and the later ones are none of its."""
    points = LossPoint.objects.filter(coordinator=coordinator)
    if coordinator.round is not None and round_ < coordinator.round:
        points.filter(round__gt=round_).delete()
    _, created = points.update_or_create(
        coordinator=coordinator, round=round_, defaults={"loss": loss}
    )
    if created:
        _thin_out(points)


def _thin_out(points: QuerySet[LossPoint]) -> None:
    rounds = dict(points.order_by("round").values_list("round", "pk"))
    if len(rounds) <= MAX_POINTS:
        return
    stretch = 2 * ceil(max(rounds) / MAX_POINTS)
    kept = {round_ // stretch: pk for round_, pk in rounds.items()}
    points.exclude(pk__in=kept.values()).delete()
