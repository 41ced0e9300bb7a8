"""All that people and their programs are told of how a run goes: one reading for the run's page,
its JSON and the site's metrics.

What rounds took was measured when they were published, so that no reading counts the whole run's
tasks again.
"""

from dataclasses import asdict, dataclass, fields

from django.db.models import Sum, Value
from django.db.models.functions import Coalesce

from coordination.clock import now
from coordination.live.held_out import newest_losses
from coordination.live.status import HISTORY_ROUNDS, phase_of, status
from coordination.models import Check, Lease, RefusalCount, Round, RoundTally, Run, Snapshot, Unit
from coordination.tallies.measure import measure
from worker_client.contract.wire import Status


@dataclass(frozen=True)
class Figures:
    """What a round took; None where it was not recorded.

    ``workers`` took a task; ``gpu_workers`` and ``cpu_workers`` are those whose results say where
    they were made. ``tokens`` were trained for results that count. ``expired`` are leases whose
    time ran out.
    """

    tokens: int | None = None
    workers: int | None = None
    gpu_workers: int | None = None
    cpu_workers: int | None = None
    bytes_up: int | None = None
    bytes_down: int | None = None
    expired: int | None = None
    refused: int | None = None
    checks_valid: int | None = None
    checks_invalid: int | None = None
    checks_unverified: int | None = None


@dataclass(frozen=True)
class Version:
    """A snapshot: its size and that of the compressed update that leads to it, in bytes;
    ``is_kept`` is whether it can still be fetched."""

    number: int
    sha256: str
    size: int
    update_size: int | None
    made_at: str
    is_kept: bool


@dataclass(frozen=True)
class Dashboard:
    """``rounds`` are as many as ``status.history``, in its order; ``current`` is the round that is
    not published yet; ``total`` has the sums of ``TOTALLED`` over all rounds, that one included;
    ``versions`` are the snapshots that ``rounds`` began with or made, newest first; ``refusals``
    counts requests by code, the most frequent first; ``held_out`` as ``newest_losses``."""

    phase: str
    status: Status
    tokens_per_second: float
    live_leases: int
    current: Figures | None
    rounds: list[Figures]
    total: dict[str, int]
    checks: dict[str, int]
    refusals: dict[str, int]
    versions: list[Version]
    held_out: list[dict]

    def to_json(self) -> dict:
        """For programs; free of language."""
        seen = self.status
        rounds = zip(seen.history, self.rounds, strict=True)
        return {
            "phase": self.phase,
            "round": seen.round,
            "rounds": seen.rounds,
            "workers": seen.workers,
            "live_leases": self.live_leases,
            "tokens_per_second": round(self.tokens_per_second, 3),
            "units": seen.tasks.model_dump(),
            "results": seen.results.model_dump(),
            "preparation": seen.preparation.model_dump() if seen.preparation else None,
            "checks": self.checks,
            "refusals": self.refusals,
            "total": self.total,
            "current": asdict(self.current) if self.current else None,
            "history": [done.model_dump() | asdict(figures) for done, figures in rounds],
            "held_out": [loss.model_dump() for loss in seen.held_out],
            "snapshots": [asdict(version) for version in self.versions],
        }


NAMES = [field.name for field in fields(Figures)]
# Nobody would add up workers, since one takes part in many rounds.
TOTALLED = [name for name in NAMES if not name.endswith("workers")]
TRAINED = (Unit.Job.TRAIN, Unit.Job.VERIFY)
COUNTED = ("bytes_up", "bytes_down", "expired")


def dashboard(run: Run, before: int | None = None, limit: int = HISTORY_ROUNDS) -> Dashboard:
    """How the run goes, with its last ``limit`` published rounds, or those before ``before``."""
    seen = status(run, before, limit)
    newest = run.current_round
    current = newest if newest and newest.state != Round.State.PUBLISHED else None
    figures = _current(current) if current else None
    speeds, total = _speeds(run), _total(run, current, figures)
    return Dashboard(
        phase=phase_of(run.state, newest.state if newest else None, seen.workers),
        status=seen,
        tokens_per_second=sum(speeds),
        live_leases=len(speeds),
        current=figures,
        rounds=_rounds(run, [done.round for done in seen.history]),
        total=total,
        checks=_checks(total, current),
        refusals=dict(RefusalCount.objects.filter(run=run).values_list("code", "count")),
        versions=_versions(run, before, limit + 1),
        held_out=newest_losses(run),
    )


def _current(round_: Round) -> Figures:
    tally = RoundTally.objects.filter(round=round_).first()
    counted = {name: getattr(tally, name) if tally else 0 for name in COUNTED}
    return Figures(**(counted | measure(round_)))


def _rounds(run: Run, numbers: list[int]) -> list[Figures]:
    tallies = RoundTally.objects.filter(round__run=run, round__number__in=numbers)
    rows = {row.pop("round__number"): row for row in tallies.values("round__number", *NAMES)}
    return [Figures(**rows.get(number, {})) for number in numbers]


def _total(run: Run, current: Round | None, figures: Figures | None) -> dict[str, int]:
    """Of bytes, the run keeps a sum itself. The current round may be published by now, and yet
    counts once."""
    others = RoundTally.objects.filter(round__run=run).exclude(round=current)
    sums = others.aggregate(**{name: Coalesce(Sum(name), Value(0)) for name in TOTALLED})
    for name in TOTALLED:
        sums[name] += (getattr(figures, name) or 0) if figures else 0
    return sums | {"bytes_up": run.bytes_up, "bytes_down": run.bytes_down}


def _speeds(run: Run) -> list[float]:
    """Tokens per second of each live lease, since it was granted and as far as was told; 0 of those
    that train nothing."""
    live = Lease.objects.filter(unit__round__run=run, state=Lease.State.LIVE)
    at, per_step = now(), run.batch_size * run.seq_len
    told = live.order_by().values_list("step", "granted_at", "unit__job")
    return [
        step * (job in TRAINED) * per_step / max(1.0, (at - since).total_seconds())
        for step, since, job in told
    ]


def _checks(total: dict[str, int], current: Round | None) -> dict[str, int]:
    """How many checks ended how; those of rounds that are over are never pending."""
    ends = {name: total[f"checks_{name}"] for name in ("valid", "invalid", "unverified")}
    pending = Check.objects.filter(result__unit__round=current, state=Check.State.PENDING)
    return ends | {"pending": pending.count() if current else 0}


def _versions(run: Run, before: int | None, limit: int) -> list[Version]:
    snapshots = Snapshot.objects.filter(run=run).order_by("-number")
    if before is not None:
        snapshots = snapshots.filter(number__lte=before)
    return [
        Version(
            number=snapshot.number,
            sha256=snapshot.sha256,
            size=snapshot.size,
            update_size=snapshot.delta_size or None,
            made_at=snapshot.created_at.isoformat(timespec="seconds"),
            is_kept=snapshot.deleted_at is None,
        )
        for snapshot in snapshots[:limit]
    ]
