"""Kill a run's server and workers with SIGKILL again and again: the same bytes must come out.

    python -m benchmarks.kills [--kills 20] [--seed 1]

Runs of 6 rounds of the tiny model with two workers, one left in peace, the others disturbed until
all kills have struck. ``--kills`` strike at random instants; a few more wait until something rare
is under way. What is killed is started again at once. Then the same on a site as an operator runs
it: server, Celery worker, beat, PostgreSQL, Redis and a worker are killed once each.
"""

import argparse
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmarks.table import Bar, judge, print_table
from tests.e2e.site import Site, fetch_model
from tests.faults.killing import (
    SERVER,
    WORKERS,
    Hit,
    Outcome,
    Plan,
    draw_plans,
    storms,
    undisturbed,
)
from tests.faults.production import DURABLE, Production
from tests.needs import missing
from tests.servers import postgresql_service, redis_service

AIMED = [
    Plan(SERVER, "check"),
    Plan(SERVER, "merge"),
    Plan(SERVER, "upload"),
    Plan(WORKERS[0], "training"),
    Plan(WORKERS[1], "upload"),
]


def draw_all(draw: random.Random, kills: int) -> list[Plan]:
    """The aimed kills among ``kills`` at random instants."""
    plans = AIMED + draw_plans(draw, kills)
    draw.shuffle(plans)
    return plans


def show_hits(hits: list[Hit]) -> None:
    columns = ["kill", "run", "victim", "aimed at", "round", "interrupted"]
    rows = [
        [str(i), hit.slug, hit.plan.victim, hit.plan.aim, str(hit.round), hit.moment]
        for i, hit in enumerate(hits, 1)
    ]
    print_table("Kills", columns, rows)
    counts = Counter(hit.moment for hit in hits)
    print("\ninterrupted: " + ", ".join(f"{name} {n}" for name, n in counts.most_common()))


def show_runs(hits: list[Hit], peace: Outcome, outcomes: list[Outcome]) -> None:
    kills = Counter(hit.slug for hit in hits)
    rows = [
        [o.slug, str(kills[o.slug]), o.snapshot[:16], "; ".join(o.faults) or "none"]
        for o in (peace, *outcomes)
    ]
    print_table("Runs", ["run", "kills", "last snapshot", "lost or double"], rows)


def bars_of(layout: str, peace: Outcome, outcomes: list[Outcome]) -> list[Bar]:
    other = sum(outcome.snapshot != peace.snapshot for outcome in outcomes)
    faults = sum(len(outcome.faults) for outcome in (peace, *outcomes))
    return [
        Bar(f"{layout}: killed runs with another last snapshot", other, 0, "runs"),
        Bar(f"{layout}: results lost or counted twice", faults, 0, "faults"),
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="SIGKILL at random instants, then compare bytes")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    draw = random.Random(options.seed)
    with tempfile.TemporaryDirectory(prefix="kills-") as name:
        folder = Path(name)
        (folder / "production").mkdir()
        models = fetch_model(folder / "models")
        with Site(folder / "embedded", models) as site:
            bars = suffer(site, draw_all(draw, options.kills), draw)
        if lack := missing(("postgresql", "redis")):
            print(f"\nNOT MEASURED  kills of a site in several processes: {lack}")
            return judge(bars)
        with postgresql_service(*DURABLE) as database, redis_service() as broker:
            with Production(folder / "production", database, broker, models=models) as site:
                site.start()
                bars += suffer(site, draw_parts(draw, site), draw)
    return judge(bars)


def draw_parts(draw: random.Random, site: Production) -> list[Plan]:
    """Each part of the site once, and a worker."""
    plans = [Plan(part) for part in (*site.parts, WORKERS[0])]
    draw.shuffle(plans)
    return plans


def suffer(site: Site, plans: list[Plan], draw: random.Random) -> list[Bar]:
    """A run in peace and runs that suffer ``plans``; shows them, and says what must hold."""
    layout = type(site).__name__.lower().replace("site", "embedded")
    peace = undisturbed(site, "peace")
    print(f"{layout}, undisturbed: {peace.round_s:.1f} s a round", flush=True)
    hits, outcomes = storms(site, plans, draw, peace)
    show_hits(hits)
    show_runs(hits, peace, outcomes)
    return bars_of(layout, peace, outcomes)


if __name__ == "__main__":
    sys.exit(main())
