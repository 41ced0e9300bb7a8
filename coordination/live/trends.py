"""What rounds took, one after another, as charts."""

from collections.abc import Sequence
from math import ceil
from typing import Any

from django.db.models import Avg, F, Max, QuerySet, Sum

from coordination.live.chart import stacked_chart
from coordination.live.status import published
from coordination.models import Round, Run

Row = dict[str, Any]

MAX_COLUMNS = 60
AVERAGED = {
    "workers": "tally__workers",
    "gpu": "tally__gpu_workers",
    "cpu": "tally__cpu_workers",
    "up": "tally__bytes_up",
    "down": "tally__bytes_down",
    "expired": "tally__expired",
    "refused": "tally__refused",
    "screened": "screened",
}


# What each chart shows, from the bottom up.
LAYERS = {
    "workers": ("gpu", "cpu", "other"),
    "speed": ("speed",),
    "bytes": ("up", "down"),
    "lost": ("expired", "refused", "screened"),
}


def trends(run: Run) -> dict[str, dict | None]:
    """Charts of the published rounds that were measured: volunteers by device, tokens per second,
    bytes up and down, tasks that were lost; each None without such rounds.

    Of a long run a column is the mean over a stretch of rounds, so that its size is bounded;
    ``last`` is always the newest round alone.
    """
    rounds = published(run).filter(tally__tokens__isnull=False)
    latest = rounds.aggregate(latest=Max("number"))["latest"]
    if latest is None:
        return dict.fromkeys(LAYERS)
    rows = _means(rounds, max(1, ceil(latest / MAX_COLUMNS)))
    [newest] = _means(rounds.filter(number=latest), 1)
    return {name: _chart(rows, newest, layers) for name, layers in LAYERS.items()}


def _chart(rows: list[Row], newest: Row, layers: Sequence[str]) -> dict | None:
    columns = {name: [row[name] for row in rows] for name in layers}
    last = {name: newest[name] for name in layers}
    told = {"round": newest["last"], "total": sum(last.values())} | last
    drawn = stacked_chart([row["last"] for row in rows], columns)
    return drawn and drawn | {"last": told, "most": _three_digits(drawn["most"])}


def _means(rounds: QuerySet[Round], stretch: int) -> list[Row]:
    """What rounds took on average, by stretches of so many; ``last`` is a stretch's last round."""
    means = {name: Avg(field, default=0) for name, field in AVERAGED.items()}
    took = {"tokens": Sum("tally__tokens"), "time": Sum(F("published_at") - F("opened_at"))}
    stretches = rounds.order_by().values(stretch=(F("number") - 1) / stretch)
    measured = stretches.annotate(last=Max("number"), **means, **took).order_by("last")
    return [_told(dict(row)) for row in measured]


def _told(row: Row) -> Row:
    seconds = row["time"].total_seconds()
    return row | {
        "other": max(0, row["workers"] - row["gpu"] - row["cpu"]),
        "speed": _three_digits(row["tokens"] / seconds) if seconds > 0 else 0.0,
    }


def _three_digits(value: float) -> float:
    """Rounded to what a person reads."""
    return float(f"{value:.3g}")
