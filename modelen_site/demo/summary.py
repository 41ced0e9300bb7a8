"""What the demo has shown, read from the coordinator's own record."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from django.db.models import Max, Min
from rich.table import Table


@dataclass(frozen=True)
class Change:
    """Held-out bits per byte, before and after."""

    before: float
    after: float

    @property
    def percent(self) -> float:
        return 100 * (self.after / self.before - 1)


@dataclass(frozen=True)
class Summary:
    """``summary.json`` field for field; sizes in bytes, times in seconds.

    ``rounds_wall_s`` lasts from the first lease to the last publication, ``train_s`` is the
    slowest volunteer's training time of each round, summed. ``snapshots`` are digests, the
    initial snapshot's first.
    """

    rounds: int
    results: dict[str, int]
    bits_per_byte: dict[str, Change]
    bytes_up: int
    bytes_down: int
    wall_s: float
    rounds_wall_s: float
    train_s: float
    snapshots: list[str]
    text: str
    device: str

    @property
    def outside_percent(self) -> float:
        """The share of the rounds' time in which nobody waited for training."""
        return 100 * (1 - self.train_s / self.rounds_wall_s)

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n", "utf-8")

    def table(self) -> Table:
        table = Table(box=None, show_header=False, pad_edge=False)
        table.add_column(style="bold")
        table.add_column()
        for label, value in self._rows():
            table.add_row(label, value)
        return table

    def _rows(self) -> list[tuple[str, str]]:
        results, languages = self.results, {"tr": "Turkish", "en": "English"}
        outside = f"{self.outside_percent:.1f} % of {self.rounds_wall_s:.1f} s"
        return [
            *((languages[name], _change(c)) for name, c in self.bits_per_byte.items()),
            ("Rounds", f"{self.rounds}, with {results['accepted']} results merged"),
            ("Refused, screened", f"{results['refused']}, {results['screened']}"),
            ("Sent, received", f"{self.bytes_up / 1e6:.1f} MB, {self.bytes_down / 1e6:.1f} MB"),
            ("Rounds outside training", f"{outside} (target: at most 15 %)"),
            ("Whole demo", f"{self.wall_s:.1f} s on {self.device}"),
            ("Text", self.text),
            ("Last snapshot", self.snapshots[-1][:16]),
        ]


def _change(change: Change) -> str:
    return f"{change.before:.4f} -> {change.after:.4f} bits per byte ({change.percent:+.2f} %)"


def recorded(slug: str) -> dict[str, Any]:
    """The fields of a summary that the coordinator knows."""
    from coordination.live.counts import result_counts
    from coordination.models import Lease, Result, Round, Run, Snapshot

    run = Run.objects.get(slug=slug)
    rounds = Round.objects.filter(run=run, published_at__isnull=False)
    leases = Lease.objects.filter(unit__round__run=run)
    merged = Result.objects.filter(unit__round__run=run, state=Result.State.MERGED)
    slowest = merged.values("unit__round").annotate(slowest=Max("train_seconds"))
    begun = leases.aggregate(at=Min("granted_at"))["at"]
    ended = rounds.aggregate(at=Max("published_at"))["at"]
    devices = merged.values_list("device", "dtype").order_by("device", "dtype").distinct()
    snapshots = Snapshot.objects.filter(run=run).order_by("number")
    return {
        "rounds": rounds.count(),
        "results": result_counts(run).model_dump(),
        "rounds_wall_s": round((ended - begun).total_seconds(), 3),
        "train_s": round(sum(slowest.values_list("slowest", flat=True)), 3),
        "snapshots": list(snapshots.values_list("sha256", flat=True)),
        "device": "; ".join(f"{device}, {dtype}" for device, dtype in devices),
    }
