"""Kill the server or a worker of a run at drawn instants, restart it, and look at what comes out.

What must come out is what an undisturbed run of the same seed gives: the same last snapshot, and
every accepted result merged once. That holds for float32, one thread, all units in every round.
"""

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.e2e.site import PATIENCE_S, Event, Site, WorkerProcess

WORKERS = ("ada", "bob")
SERVER = "server"
ANY = "any"
# Long enough that some kills fall into training; leases so short that a killed worker's unit may go
# to the other one before it is back.
FIELDS: dict[str, int] = {"rounds": 6, "inner_steps": 40, "lease_seconds": 5}
POLL_S = 0.001
# In the site's state folder.
BEING_WRITTEN, BEING_SENT = "blobs/tmp/*", "uploads/*.part"


@dataclass(frozen=True)
class Plan:
    """Whom to kill, and when: at a random instant, or as soon as something is under way."""

    victim: str
    aim: str = ANY


@dataclass(frozen=True)
class Hit:
    """A kill that happened: in which run, to whom, and what it interrupted."""

    slug: str
    plan: Plan
    round: int
    moment: str


@dataclass
class Outcome:
    """What a run left behind. ``faults`` is empty when nothing was lost or counted twice."""

    slug: str
    snapshot: str
    round_s: float
    faults: list[str] = field(default_factory=list)


class LiveRun:
    """A run whose two workers are at it."""

    def __init__(self, site: Site, slug: str, **fields: int) -> None:
        self.site, self.slug = site, slug
        self.rounds = (FIELDS | fields)["rounds"]
        self._left_behind = self._files(BEING_WRITTEN, BEING_SENT)
        self._lives: list[WorkerProcess] = []
        site.make_run(slug, **FIELDS | fields)
        if site.server is None:
            site.start()
        self.workers = {name: self._start(name) for name in WORKERS}

    def _start(self, name: str) -> WorkerProcess:
        worker = self.site.worker(self.slug, name)
        self._lives.append(worker)
        return worker

    # --- What is going on ----------------------------------------------------------------------

    @property
    def over(self) -> bool:
        return self._ask("select state from coordination_run where slug = ?") == [("finished",)]

    @property
    def round(self) -> int:
        ((number,),) = self._ask(f"select max(number) {self._of('round')}")
        return number

    def is_merging(self) -> bool:
        return bool(self._ask(f"select 1 {self._of('round')} and round.state = 'merging'"))

    def is_checking(self) -> bool:
        """Whether a result or snapshot is being written."""
        return self._is_new(BEING_WRITTEN)

    def is_uploading(self) -> bool:
        return self._is_new(BEING_SENT)

    def is_training(self) -> bool:
        return bool(self._ask(f"select 1 {self._of('unit')} and unit.state = 'leased'"))

    def _files(self, *patterns: str) -> set[Path]:
        return {path for pattern in patterns for path in self.site.var.glob(pattern)}

    def _is_new(self, pattern: str) -> bool:
        """Whether there is such a file that no earlier kill left behind."""
        return not self._left_behind.issuperset(self._files(pattern))

    def _ask(self, query: str) -> list[tuple]:
        return self.site.rows(query, self.slug)

    def _of(self, table: str) -> str:
        """The rows of this run, from ``table`` up to the run, as the rest of a query."""
        chain = ["result", "unit", "round"]
        links = chain[chain.index(table) :]
        joins = f"from coordination_{table} {table}"
        for low, high in zip(links, [*links[1:], "run"], strict=True):
            joins += f" join coordination_{high} {high} on {high}.id = {low}.{high}_id"
        return f"{joins} where run.slug = ?"

    # --- Killing ---------------------------------------------------------------------------------

    def wait_until_at_work(self, victim: str) -> None:
        """Return when a worker has its model loaded or is done; other parts work once started."""
        if victim in self.workers:
            self.workers[victim].wait_for("ready", "finished")

    def wait_for(self, plan: Plan, delay: float) -> None:
        """Return at the instant that ``plan`` names, or when the run is over."""
        if plan.aim == ANY:
            time.sleep(delay)
        elif plan.victim not in self.workers:
            self._wait_for_server(AIMS[plan.aim])
        else:
            self._wait_for_event(self.workers[plan.victim], plan.aim)

    def _wait_for_server(self, reached: "Callable[[LiveRun], bool]") -> None:
        until = time.monotonic() + PATIENCE_S
        while not reached(self) and not self.over and time.monotonic() < until:
            time.sleep(POLL_S)

    def _wait_for_event(self, worker: WorkerProcess, aim: str) -> None:
        before = len(worker.events)

        def told() -> bool:
            names = [event["event"] for event in worker.events[before:]]
            return "finished" in names or aim in (AFTER[name] for name in names)

        worker.wait_until(told)

    def kill(self, victim: str) -> str:
        """SIGKILL; returns what that interrupted."""
        moment = self._kill_worker(victim) if victim in self.workers else self._kill_part(victim)
        self._left_behind |= self._files(BEING_WRITTEN, BEING_SENT)
        return moment

    def _kill_part(self, part: str) -> str:
        self.site.kill_part(part)
        if part != SERVER:
            return part
        return next((name for name, holds in AIMS.items() if holds(self)), "lease")

    def _kill_worker(self, name: str) -> str:
        self.workers[name].kill()
        events = self.workers[name].events
        return AFTER[events[-1]["event"]] if events else "start"

    def restart(self, victim: str) -> None:
        if victim in self.workers:
            self.workers[victim] = self._start(victim)
        else:
            self.site.start_part(victim)

    # --- The end ---------------------------------------------------------------------------------

    def outcome(self) -> Outcome:
        """Wait for the end and look at what is there."""
        exits = {name: worker.wait() for name, worker in self.workers.items()}
        query = "select sha256 from coordination_snapshot s join coordination_run run"
        rows = self._ask(f"{query} on run.id = s.run_id where slug = ? order by number")
        faults = [f"{name} ended with {status}" for name, status in exits.items() if status]
        if len(rows) != self.rounds + 1:
            faults.append(f"{len(rows)} snapshots")
        return Outcome(self.slug, rows[-1][0], self._round_seconds(), faults + self._faults())

    def _round_seconds(self) -> float:
        """How long a round took; the first one has the loading of models in it."""
        seconds = [row["sure_s"] for row in self.site.status(self.slug)["gecmis"][1:]]
        return sum(seconds) / len(seconds)

    def _faults(self) -> list[str]:
        units = self.rounds * len(WORKERS)
        token = "(select token from coordination_lease where id = result.lease_id)"
        merged = self._ask(
            f"select {token}, result.unit_id, result.holds_unit {self._of('result')} "
            "and result.state = 'merged'"
        )
        counted = [row[0] for row in self._ask(f"select accepted {self._of('round')}")]
        told = {e["lease_id"] for e in self._events() if e["event"] == "verdict" and e["accepted"]}
        checks = {
            f"{len(merged)} results merged for {units} units": len(merged) == units,
            "a unit has two merged results": len({row[1] for row in merged}) == units,
            "a merged result does not hold its unit": all(row[2] for row in merged),
            f"rounds counted {counted} results": counted == [len(WORKERS)] * self.rounds,
            "an accepted result was not merged": told <= {row[0] for row in merged},
        }
        return [fault for fault, holds in checks.items() if not holds]

    def _events(self) -> Iterator[Event]:
        for worker in self._lives:
            yield from worker.events


# What a kill of the server interrupts, the rarest first.
AIMS: dict[str, Callable[[LiveRun], bool]] = {
    "merge": LiveRun.is_merging,
    "check": LiveRun.is_checking,
    "upload": LiveRun.is_uploading,
    "training": LiveRun.is_training,
}
# What a worker does after each event that it tells.
AFTER = {
    "started": "start",
    "ready": "lease",
    "waiting": "lease",
    "fate": "download",
    "leased": "download",
    "downloaded": "training",
    "step": "training",
    "trained": "upload",
    "uploaded": "upload",
    "verdict": "lease",
    "restarted": "lease",
    "stopping": "end",
    "abandoned": "lease",
    "error": "lease",
    "finished": "end",
}


def draw_plans(draw: random.Random, count: int) -> list[Plan]:
    """``count`` kills at random instants, half of them the server's."""
    return [Plan(draw.choice([SERVER, SERVER, *WORKERS])) for _ in range(count)]


def undisturbed(site: Site, slug: str, **fields: int) -> Outcome:
    return LiveRun(site, slug, **fields).outcome()


def disturbed(
    site: Site,
    slug: str,
    plans: list[Plan],
    draw: random.Random,
    round_s: float,
    **fields: int,
) -> tuple[list[Hit], Outcome]:
    """A run that suffers ``plans`` (which are taken off the list) until it is over."""
    run = LiveRun(site, slug, **fields)
    hits = []
    for name in WORKERS:
        run.wait_until_at_work(name)
    while plans and not run.over:
        plan = plans[0]
        run.wait_until_at_work(plan.victim)
        run.wait_for(plan, draw.uniform(0, round_s))
        if run.over:
            break
        number = run.round
        hits.append(Hit(slug, plans.pop(0), number, run.kill(plan.victim)))
        run.restart(plan.victim)
    return hits, run.outcome()


def storms(
    site: Site, plans: list[Plan], draw: random.Random, peace: Outcome, **fields: int
) -> tuple[list[Hit], list[Outcome]]:
    """Disturbed runs, one after the other, until every plan has struck.

    Raises:
        AssertionError: some never did, although there were more runs than plans.
    """
    left = list(plans)
    hits: list[Hit] = []
    outcomes: list[Outcome] = []
    while left and len(outcomes) <= len(plans):
        slug = f"storm-{len(outcomes) + 1}"
        struck, outcome = disturbed(site, slug, left, draw, peace.round_s, **fields)
        hits += struck
        outcomes.append(outcome)
        print(f"{slug}: {len(struck)} kills, {len(left)} left", flush=True)
    assert not left, f"these kills never struck: {left}"
    return hits, outcomes
