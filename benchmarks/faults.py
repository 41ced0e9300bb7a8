"""Everything that can fail, at instants chosen by a seed: what runs come to all the same.

    python -m benchmarks.faults [--faults 6] [--seed 1] [--only lines kills ...]

Each kind of fault strikes ``--faults`` times at least, in runs of six rounds whose volunteers send
what their tasks alone determine, so that every run must end with the same bytes. Volunteers that
really train are killed in ``benchmarks.kills``. A group whose needs are missing is NOT MEASURED.
"""

import argparse
import random
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.table import Bar, judge, print_table
from tests.e2e.site import Site
from tests.faults.breaking import (
    Fault,
    WrongClock,
    any_of,
    filling,
    killing_a_part,
    killing_a_volunteer,
    small_disk,
)
from tests.faults.enduring import Record, endure, now_and_then, peacefully, suffer
from tests.faults.judging import Judgement
from tests.faults.production import DURABLE, Production
from tests.faults.proxy import Harm, proxying, seeded
from tests.needs import missing
from tests.servers import postgresql_service, redis_service

SHARE = 0.3
GAP_S = 0.7
PARTS = ("server", "celery", "beat", "postgresql", "redis")
TWO_OF_EACH = ("server", "server-2", "celery", "celery-2", "beat", "beat-2")


@dataclass
class Lab:
    """Where it happens, how often each kind strikes, and by what dice."""

    folder: Path
    wanted: int
    draw: random.Random

    def suffer(self, site: Site, kind: str, fault: Fault, ports: Sequence[int] = ()) -> Record:
        disturb = now_and_then(fault, self.wanted, GAP_S)
        return suffer(site, kind, disturb, self.draw, self.wanted, ports)

    def place(self, name: str) -> Path:
        place = self.folder / name
        place.mkdir()
        return place

    @contextmanager
    def production(self, name: str, parts: tuple[str, ...]) -> Iterator[Production]:
        with postgresql_service(*DURABLE) as database, redis_service() as broker:
            with Production(self.place(name), database, broker, parts) as site:
                site.start()
                yield site


def lines(lab: Lab) -> Iterator[Record]:
    """A line to the server that does one kind of harm to a share of all requests."""
    with Site(lab.place("lines")) as site:
        site.start()
        for harm in Harm:
            record = Record(f"line-{harm}")
            with proxying(site.port, seeded(lab.wanted, SHARE, [harm])) as (port, proxy):
                _, judgement = endure(site, record.kind, peacefully, lab.draw, [port])
            record.add(proxy.done[harm], judgement)
            yield record


def disk(lab: Lab) -> Iterator[Record]:
    """A disk, the database's too, that is full to its last byte again and again."""
    folder = lab.place("disk")
    with small_disk(folder / "small") as small, Site(folder, MODELEN_VAR=str(small)) as site:
        site.var = small
        site.start()
        yield lab.suffer(site, "disk-full", filling(small))


def clock(lab: Lab) -> Iterator[Record]:
    """A server whose clock is set forward and back by up to days."""
    folder = lab.place("clock")
    wrong = WrongClock(folder)
    with Site(folder, None, **wrong.variables) as site:
        site.start()
        yield lab.suffer(site, "clock-jump", wrong.jump)


def kills(lab: Lab) -> Iterator[Record]:
    """SIGKILL to each part of a site as an operator runs it, and to volunteers."""
    with lab.production("kills", PARTS[:3]) as site:
        for part in PARTS:
            yield lab.suffer(site, f"kill-{part}", killing_a_part(site, part))
        yield lab.suffer(site, "kill-volunteer", killing_a_volunteer)


def doubles(lab: Lab) -> Iterator[Record]:
    """Two servers, schedulers and mergers on one database; then everything at once."""
    with lab.production("doubles", TWO_OF_EACH) as site:
        record = Record("two-of-each")
        ports = list(site.ports.values())
        record.add(1, endure(site, record.kind, peacefully, lab.draw, ports)[1])
        yield record
        fault = any_of(killing_a_volunteer, *(killing_a_part(site, part) for part in site.parts))
        with proxying(ports[0], seeded(1, SHARE)) as (first, one):
            with proxying(ports[1], seeded(2, SHARE)) as (second, other):
                storm = lab.suffer(site, "all-at-once", fault, [first, second])
        storm.injected += one.done.total() + other.done.total()
        yield storm


@dataclass(frozen=True)
class Group:
    run: Callable[[Lab], Iterator[Record]]
    needs: tuple[str, ...] = ()


GROUPS = {
    "lines": Group(lines),
    "disk": Group(disk, ("namespaces",)),
    "clock": Group(clock, ("faketime",)),
    "kills": Group(kills, ("postgresql", "redis")),
    "doubles": Group(doubles, ("postgresql", "redis")),
}


def in_peace(lab: Lab) -> Judgement:
    with Site(lab.place("peace")) as site:
        site.start()
        return endure(site, "peace", peacefully, lab.draw)[1]


def show(records: list[Record], peace: Judgement) -> None:
    columns = ["fault", "injected", "runs", "rounds ended", "lost", "counted twice", "same bytes"]
    rows = []
    for record in records:
        found, runs = record.judgements, len(record.judgements)
        same = sum(judgement.snapshot == peace.snapshot for judgement in found)
        rows.append(
            [
                record.kind,
                str(record.injected),
                str(runs),
                f"{sum(j.rounds for j in found)} of {peace.rounds * runs}",
                str(sum(j.lost for j in found)),
                str(sum(j.twice for j in found)),
                f"{same} of {runs}",
            ]
        )
    print_table("Faults", columns, rows)


def bars(records: list[Record], peace: Judgement) -> list[Bar]:
    found = [judgement for record in records for judgement in record.judgements]
    other = sum(judgement.snapshot != peace.snapshot for judgement in found)
    return [
        Bar("kinds of fault that never struck", sum(not r.injected for r in records), 0, "kinds"),
        Bar("rounds that did not end", sum(peace.rounds - j.rounds for j in found), 0, "rounds"),
        Bar("accepted results lost", sum(j.lost for j in found), 0, "results"),
        Bar("results counted twice", sum(j.twice for j in found), 0, "results"),
        Bar("runs that ended with other bytes than one in peace", other, 0, "runs"),
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Break everything, then compare bytes")
    parser.add_argument("--faults", type=int, default=6, help="of each kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="+", choices=GROUPS, default=list(GROUPS))
    options = parser.parse_args(arguments)
    records, lacking = [], []
    with tempfile.TemporaryDirectory(prefix="faults-") as name:
        lab = Lab(Path(name), options.faults, random.Random(options.seed))
        peace = in_peace(lab)
        for name in options.only:
            if lack := missing(GROUPS[name].needs):
                lacking.append(f"NOT MEASURED  faults, {name}: {lack}")
                continue
            for record in GROUPS[name].run(lab):
                print(f"{record.kind}: {record.injected} faults", flush=True)
                records.append(record)
    show(records, peace)
    print("\n".join(["", *lacking]))
    return judge(bars(records, peace))


if __name__ == "__main__":
    sys.exit(main())
