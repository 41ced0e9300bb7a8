"""A loss curve small enough for a line of text, as an SVG path."""

from collections.abc import Sequence
from dataclasses import dataclass

from portal.models import Coordinator

WIDTH, HEIGHT = 100, 24


@dataclass(frozen=True)
class Sparkline:
    """The path, in a box of WIDTH by HEIGHT, and what it shows in numbers."""

    path: str
    first: tuple[int, float]
    last: tuple[int, float]
    lowest: float


def sparkline(coordinator: Coordinator) -> Sparkline | None:
    """The coordinator's loss over its rounds; None until there are two."""
    return draw(list(coordinator.loss_points.order_by("round").values_list("round", "loss")))


def draw(points: Sequence[tuple[int, float]]) -> Sparkline | None:
    """The curve of ``(round, loss)`` points in order of round."""
    if len(points) < 2:
        return None
    rounds, losses = [p[0] for p in points], [p[1] for p in points]
    xs = _scaled(rounds, WIDTH)
    ys = (HEIGHT - y for y in _scaled(losses, HEIGHT))
    path = "M" + " L".join(f"{x:.2f} {y:.2f}" for x, y in zip(xs, ys, strict=True))
    return Sparkline(path, points[0], points[-1], min(losses))


def _scaled(values: Sequence[float], size: float) -> list[float]:
    low, high = min(values), max(values)
    return [size / 2 if high == low else size * (v - low) / (high - low) for v in values]
