"""Runs that suffer one kind of fault, and what must come out: the bytes of a run left in peace.

Volunteers here are processes that send results determined by their tasks alone, so that a run of
six rounds takes seconds. ``killing.py`` has real training instead.
"""

import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from tests.e2e.site import PATIENCE_S, POLL_S, REPO, Program, Site, clean_environment
from tests.faults.judging import Judgement, how_it_stands, judge_run

VOLUNTEERS = ("ada", "bob", "eda")
# Every round needs every unit, so that the bytes do not depend on who was late; a unit whose lease
# was lost comes back in seconds.
FIELDS: dict[str, object] = {
    "rounds": 6,
    "shards": 3,
    "min_results": 3,
    "lease_seconds": 5,
    "max_leases_per_address": 100,
}
# Stands for the training, so that there is something to disturb.
PAUSE_S = 0.2


class Crew:
    """Volunteers at work on one run, each at the addresses in ``urls`` in turn."""

    def __init__(self, site: Site, slug: str, urls: list[str]) -> None:
        self._site, self._slug, self._urls = site, slug, urls
        self._lives: list[Program] = []
        self._programs = {name: self._start(name) for name in VOLUNTEERS}

    def _start(self, name: str, life: int = 0) -> Program:
        folder = self._site.folder / f"{self._slug}-{name}-{life}"
        who = f"{name}-{life}"
        command = ["-m", "tests.faults.volunteer", who, str(folder), str(PAUSE_S), *self._urls]
        # Whatever the site's programs live in: nothing of that is the volunteers'.
        program = Program(command, clean_environment() | {"PYTHONPATH": str(REPO)})
        self._lives.append(program)
        return program

    def kill(self, name: str) -> None:
        """SIGKILL to a volunteer, who is back at once."""
        self._programs[name].kill()
        self._programs[name] = self._start(name)

    def replace(self, name: str) -> None:
        """SIGKILL to a volunteer, who never comes back; somebody else comes instead."""
        self._programs[name].kill()
        self._programs[name] = self._start(name, len(self._lives))

    @property
    def at_work(self) -> bool:
        """Whether the run goes on, which is so until every volunteer has heard of its end."""
        return any(program.alive for program in self._programs.values())

    def go_on_for(self, seconds: float) -> bool:
        """Let them work for a while; whether the run still goes on then."""
        until = time.monotonic() + seconds
        while self.at_work and time.monotonic() < until:
            time.sleep(POLL_S)
        return self.at_work

    def wait(self) -> None:
        """Return when the run is over for everybody, however slow the machine.

        Raises:
            AssertionError: a volunteer failed, or nothing is accepted any more.
        """
        accepted, until = -1, 0.0
        while self.at_work:
            if (count := len(set(self.accepted()))) > accepted:
                accepted, until = count, time.monotonic() + PATIENCE_S
            if time.monotonic() > until:
                break
            time.sleep(POLL_S)
        for name, program in self._programs.items():
            status = program.process.poll()
            said = "".join(program.lines[-20:])
            assert status == 0, f"{name} of {self._slug} ({status}) said: {said}"

    def end(self) -> None:
        for program in self._programs.values():
            if program.alive:
                program.kill()

    def accepted(self) -> Iterator[str]:
        """The leases whose results the coordinator accepted, as the volunteers heard it."""
        for life in self._lives:
            for told in life.told():
                if told.get("accepted"):
                    yield told["lease_id"]


Disturb = Callable[[Crew, random.Random], int]


@dataclass
class Record:
    """Runs that suffered one kind of fault: how often, and what came out of each."""

    kind: str
    injected: int = 0
    judgements: list[Judgement] = field(default_factory=list)

    def add(self, injected: int, judgement: Judgement) -> None:
        self.injected += injected
        self.judgements.append(judgement)

    def faults(self, peace: Judgement) -> list[str]:
        """What is wrong, compared with a run left in peace."""
        found = [fault for judgement in self.judgements for fault in judgement.faults]
        found += ["a run did not end" for j in self.judgements if j.rounds != peace.rounds]
        found += ["other bytes came out" for j in self.judgements if j.snapshot != peace.snapshot]
        return found + ([] if self.injected else ["no fault was injected"])


def endure(
    site: Site, slug: str, disturb: Disturb, draw: random.Random, ports: Sequence[int] = ()
) -> tuple[int, Judgement]:
    """A run that ``disturb`` disturbs until it is over: how many faults it suffered, and the end.

    The volunteers go to the site itself, or to all ``ports`` in turn.
    """
    site.make_run(slug, **FIELDS)
    urls = [f"http://127.0.0.1:{port}/c/{slug}" for port in ports or [site.port]]
    crew = Crew(site, slug, urls)
    injected = 0
    try:
        injected = disturb(crew, draw)
        crew.wait()
    except AssertionError as error:
        # The judgement says so as well: fewer rounds were published.
        print(error, *how_it_stands(site.rows, slug), sep="\n", flush=True)
    finally:
        crew.end()
    return injected, judge_run(site.rows, slug, crew.accepted())


def peacefully(crew: Crew, draw: random.Random) -> int:
    return 0


def now_and_then(fault: Callable[[Crew, random.Random], None], most: int, gap_s: float) -> Disturb:
    """Inject ``fault`` at random instants, on average every ``gap_s`` s, ``most`` times at most."""

    def disturb(crew: Crew, draw: random.Random) -> int:
        for count in range(most):
            if not crew.go_on_for(draw.uniform(0, 2 * gap_s)):
                return count
            fault(crew, draw)
        return most

    return disturb


def suffer(
    site: Site,
    kind: str,
    disturb: Disturb,
    draw: random.Random,
    wanted: int,
    ports: Sequence[int] = (),
) -> Record:
    """Runs, one after the other, until ``wanted`` faults of one kind have struck.

    Raises:
        AssertionError: they do not strike, or a run does not end.
    """
    record, stop = Record(kind), time.monotonic() + PATIENCE_S + 30 * wanted
    while record.injected < wanted:
        assert time.monotonic() < stop, f"{kind}: {record.injected} of {wanted} faults struck"
        slug = f"{kind}-{len(record.judgements) + 1}"
        record.add(*endure(site, slug, disturb, draw, ports))
    return record
