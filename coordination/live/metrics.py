"""What Prometheus is told of the runs, read from the database when it asks: several processes
serve one site, and each knows only its own part."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Q
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from coordination.clock import now
from coordination.live.dashboard import Dashboard, dashboard
from coordination.live.status import PHASES
from coordination.models import Run

TOLD_AFTER_THE_END = timedelta(days=1)

Values = Iterable[tuple[tuple[str, ...], float | None]]


@dataclass(frozen=True)
class Kind:
    """A metric with a value for each run; ``read`` gives values by ``labels``, None for unknown.

    Only what never falls is a counter: a result that counted may still be screened out.
    """

    name: str
    about: str
    read: Callable[[Dashboard], Values]
    labels: tuple[str, ...] = ()
    is_counter: bool = False


def one(read: Callable[[Dashboard], float | None]) -> Callable[[Dashboard], Values]:
    return lambda seen: [((), read(seen))]


def _published_tokens(seen: Dashboard) -> int:
    current = seen.current.tokens if seen.current else 0
    return seen.total["tokens"] - (current or 0)


def _newest_loss(seen: Dashboard) -> float | None:
    history = seen.status.history
    return history[-1].loss if history else None


def _snapshots(seen: Dashboard) -> Values:
    return [((str(newest.number), newest.sha256), 1) for newest in seen.versions[:1]]


def _by_name(counts: dict[str, int]) -> Values:
    return [((name,), count) for name, count in counts.items()]


KINDS = (
    Kind(
        "modelen_run_phase",
        "1 for what is going on in the run, 0 for what is not.",
        lambda seen: [((phase,), float(phase == seen.phase)) for phase in PHASES],
        ("phase",),
    ),
    Kind("modelen_run_round", "Number of the current round.", one(lambda seen: seen.status.round)),
    Kind("modelen_run_rounds", "Rounds that the run has.", one(lambda seen: seen.status.rounds)),
    Kind(
        "modelen_run_workers",
        "Workers that hold a lease or were heard from within five minutes.",
        one(lambda seen: seen.status.workers),
    ),
    Kind("modelen_run_live_leases", "Leases that live.", one(lambda seen: seen.live_leases)),
    Kind(
        "modelen_run_tokens_per_second",
        "Speed of the leases that live, as far as they have told.",
        one(lambda seen: seen.tokens_per_second),
    ),
    Kind(
        "modelen_run_units",
        "Units of the current round by state.",
        lambda seen: _by_name(seen.status.tasks.model_dump()),
        ("state",),
    ),
    Kind("modelen_run_loss", "Mean loss of the newest published round.", one(_newest_loss)),
    Kind(
        "modelen_run_held_out_loss",
        "Loss of the newest snapshot measured on a language's held-out text.",
        lambda seen: [((row["language"],), row["loss"]) for row in seen.held_out],
        ("language",),
    ),
    Kind(
        "modelen_run_held_out_bits_per_byte",
        "The same in bits per byte, which compare across languages.",
        lambda seen: [((row["language"],), row["bits"]) for row in seen.held_out],
        ("language",),
    ),
    Kind(
        "modelen_run_results",
        "Results of the whole run by verdict.",
        lambda seen: _by_name(seen.status.results.model_dump()),
        ("verdict",),
    ),
    Kind(
        "modelen_run_checks",
        "Checks of results by outcome.",
        lambda seen: _by_name(seen.checks),
        ("outcome",),
    ),
    Kind(
        "modelen_run_snapshot_info",
        "The newest snapshot and its digest.",
        _snapshots,
        ("number", "sha256"),
    ),
    Kind(
        "modelen_run_tokens",
        "Tokens trained for results that count, in published rounds.",
        one(_published_tokens),
        is_counter=True,
    ),
    Kind(
        "modelen_run_bytes",
        "Bytes of files, up from and down to workers.",
        lambda seen: [(("up",), seen.total["bytes_up"]), (("down",), seen.total["bytes_down"])],
        ("direction",),
        is_counter=True,
    ),
    Kind(
        "modelen_run_expired_leases",
        "Leases whose time ran out.",
        one(lambda seen: seen.total["expired"]),
        is_counter=True,
    ),
    Kind(
        "modelen_run_refusals",
        "Requests refused, by the protocol's code.",
        lambda seen: _by_name(seen.refusals),
        ("code",),
        is_counter=True,
    ),
)


def metrics() -> Iterator[Metric]:
    """All kinds, of the runs that are not over or were not a day ago."""
    told = Q(finished_at=None) | Q(finished_at__gte=now() - TOLD_AFTER_THE_END)
    runs = Run.objects.filter(told).order_by("slug")
    boards = {run.slug: dashboard(run, limit=1) for run in runs}
    for kind in KINDS:
        family = CounterMetricFamily if kind.is_counter else GaugeMetricFamily
        metric = family(kind.name, kind.about, labels=("run", *kind.labels))
        for slug, seen in boards.items():
            for labels, value in kind.read(seen):
                if value is not None:
                    metric.add_metric([slug, *labels], value)
        yield metric
