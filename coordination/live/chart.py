"""Geometry of the charts, in percent of the plot, so that only this module knows about it.

The templates draw what stands here, and the page's script sets the same attributes when a newer
snapshot arrives.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

import numpy as np

MAX_POINTS = 120
INTERVALS = 4
FEW_INTERVALS = 3
LOOKS = 6
DOTS_UP_TO = 40  # beyond it, dots would hide the line


@dataclass(frozen=True)
class Scale:
    """A span of values with round numbers at its ticks."""

    low: float
    high: float
    step: float

    def at(self, value: float) -> float:
        """Where ``value`` lies, 0 to 100."""
        span = self.high - self.low
        return 50.0 if span == 0 else 100 * (value - self.low) / span

    @property
    def ticks(self) -> list[float]:
        first = ceil(self.low / self.step - 1e-9)
        last = floor(self.high / self.step + 1e-9)
        return [round(i * self.step, 10) for i in range(first, last + 1)]


def loss_chart(points: Sequence[tuple[int, float]]) -> dict | None:
    """Lines, dots and ticks for ``(round, loss)`` points in order of round; None without any."""
    if not points:
        return None
    rounds, losses = [p[0] for p in points], [p[1] for p in points]
    x, y = _round_scale(rounds), _loss_scale(losses)
    placed = [(x.at(number), 100 - y.at(loss)) for number, loss in points]
    line = "M" + " L".join(f"{left:.2f} {top:.2f}" for left, top in placed)
    return {
        "line": line,
        "area": f"{line} L{placed[-1][0]:.2f} 100 L{placed[0][0]:.2f} 100 Z",
        "dots": _dots(placed, points) if len(points) <= DOTS_UP_TO else _dots(placed, points)[-1:],
        "x_ticks": [{"at": _percent(x.at(tick)), "value": int(tick)} for tick in x.ticks],
        "y_ticks": [{"at": _percent(100 - y.at(tick)), "value": tick} for tick in y.ticks],
        "first": {"round": rounds[0], "loss": losses[0]},
        "last": {"round": rounds[-1], "loss": losses[-1]},
        "lowest": min(losses),
    }


def lines_chart(lines: Mapping[str, Sequence[tuple[int, float]]]) -> dict | None:
    """A line for each name, of (round, value) points in order of round; None without any."""
    if not lines:
        return None
    rounds = sorted({number for points in lines.values() for number, _ in points})
    x, y = _round_scale(rounds), _loss_scale([v for points in lines.values() for _, v in points])
    return {
        "lines": [
            {"name": name, "look": look(index), "path": _path(points, x, y)}
            for index, (name, points) in enumerate(lines.items())
        ],
        "x_ticks": [{"at": _percent(x.at(tick)), "value": int(tick)} for tick in x.ticks],
        "y_ticks": [{"at": _percent(100 - y.at(tick)), "value": tick} for tick in y.ticks],
    }


def look(index: int) -> str:
    """Classes of the line so numbered; as many as can be told apart."""
    return f"trace look-{index % LOOKS}"


def _path(points: Sequence[tuple[int, float]], x: Scale, y: Scale) -> str:
    """Of a single point a line that leads nowhere, which round ends make a dot."""
    twice = points if len(points) > 1 else [*points, *points]
    return "M" + " L".join(f"{x.at(number):.1f} {100 - y.at(value):.1f}" for number, value in twice)


def stacked_chart(rounds: Sequence[int], layers: Mapping[str, Sequence[float]]) -> dict | None:
    """Columns, one for each of ``rounds``, of ``layers`` on each other, the first at the bottom;
    None without any.

    Each layer is the outline of itself and all below it, so that the last is drawn first.
    """
    if not rounds:
        return None
    tops = np.cumsum([*layers.values()], axis=0).tolist()
    totals = tops[-1]
    y = _scale_from_zero(max(totals))
    outlines = (_outline([100 - y.at(value) for value in top]) for top in tops)
    return dict(zip(layers, outlines, strict=True)) | {
        "x_ticks": _column_ticks(rounds),
        "y_ticks": [{"at": _percent(100 - y.at(tick)), "value": tick} for tick in y.ticks],
        "most": max(totals),
    }


def _outline(tops: Sequence[float]) -> str:
    width = 100 / len(tops)
    steps = (f"V{top:.1f}H{(i + 1) * width:.1f}" for i, top in enumerate(tops))
    return f"M0 100{''.join(steps)}V100Z"


def _column_ticks(rounds: Sequence[int]) -> list[dict]:
    """Round numbers under the middle of their columns; where columns stand for stretches of
    rounds, under the one that has the round."""
    wanted = [int(tick) for tick in _round_scale(rounds).ticks]
    width = 100 / len(rounds)
    columns = [(bisect_left(rounds, number), number) for number in wanted]
    return [{"at": _percent((i + 0.5) * width), "value": number} for i, number in columns]


def _scale_from_zero(high: float) -> Scale:
    if high <= 0:
        return Scale(0, 1, 1)
    step = nice_step(high, FEW_INTERVALS)
    return Scale(0, ceil(high / step - 1e-9) * step, step)


def _dots(placed: Sequence[tuple[float, float]], points: Sequence[tuple[int, float]]) -> list:
    return [
        {"x": _percent(left), "y": _percent(top), "round": number, "loss": loss}
        for (left, top), (number, loss) in zip(placed, points, strict=True)
    ]


def _round_scale(rounds: Sequence[int]) -> Scale:
    step = max(1, round(nice_step(rounds[-1] - rounds[0], 6)))
    return Scale(rounds[0], rounds[-1], step)


def _loss_scale(losses: Sequence[float]) -> Scale:
    low, high = min(losses), max(losses)
    least = max(1e-3, high * 1e-6)  # differences below it are not worth an axis
    if high - low < least:
        margin = max(high / 10, least)
        low, high = low - margin, high + margin
    step = nice_step(high - low, INTERVALS)
    return Scale(floor(low / step + 1e-9) * step, ceil(high / step - 1e-9) * step, step)


def nice_step(span: float, intervals: int) -> float:
    """The smallest of 1, 2, 5 times a power of ten that covers ``span`` in ``intervals`` steps."""
    if span <= 0:
        return 1.0
    power = 10.0 ** floor(log10(span / intervals))
    fitting = (m * power for m in (1, 2, 5, 10) if m * power * intervals >= span * (1 - 1e-9))
    return next(fitting, 10 * power)


def _percent(value: float) -> str:
    return f"{value:.2f}%"
