"""``/bilgi`` and ``/durum``: what anybody may ask."""

import time
from collections.abc import Callable

from worker_client.conformance.bench import Bench, parse
from worker_client.conformance.check import Absent, Failed, demand
from worker_client.conformance.checks import coordinator as check
from worker_client.conformance.http import expect_status
from worker_client.contract import wire

CACHED_S = 6.0  # /durum may be cached for a moment


@check("about-fields", "What this coordinator is. Without it: 404, and nothing else is lost.")
def about_fields(bench: Bench) -> str:
    reply = bench.http.send("GET", "/bilgi")
    if reply.status == 404:
        raise Absent("no /bilgi")
    about = parse(expect_status(reply, 200), wire.About)
    demand(about.protocol == 1, f"protokol is {about.protocol}")
    return about.name


@check(
    "about-agrees",
    "`recete`, `mod`, `tur`, `tur_sayisi`, `ic_adim`, `seq`, `n_parca`, `veri` (bool: serves data)",
)
def about_agrees(bench: Bench) -> None:
    if bench.http.send("GET", "/bilgi").status == 404:
        raise Absent("no /bilgi")
    about, task = bench.about, bench.lease().task
    if about is None:
        raise Failed("/bilgi is not readable, see about-fields")
    names = ("format", "recipe", "mode", "rounds", "inner_steps", "seq_len", "shards")
    odd = [name for name in names if getattr(about, name) != getattr(task, name)]
    demand(not odd, f"/bilgi and the lease do not agree about {', '.join(odd)}")
    demand(about.serves_data == (task.data is not None), "veri of /bilgi and lease do not agree")


@check(
    "status-fields",
    "Public live state: `durum` (`hazir` | `acik` | `birlestiriliyor` | `duraklatildi` | `bitti`)",
)
def status_fields(bench: Bench) -> str:
    status = bench.status()
    return f"{status.state.value}, round {status.round} of {status.rounds}"


@check("status-units", "`gorev` (counts: `bos`, `kirada`, `tamam`)")
def status_units(bench: Bench) -> None:
    lease = bench.lease()
    shards = lease.task.shards

    def agrees() -> bool:
        counts = bench.status().tasks
        return counts.leased == len(bench.held) and 0 < counts.free + counts.leased <= shards

    eventually(agrees, lambda: f"one task is leased, and /durum says {bench.status().tasks}")


@check("status-results", "`sonuc` (counts over the run: `kabul`, `ret`, `elenen`)")
def status_results(bench: Bench) -> None:
    before = bench.status().results
    bench.spend(bench.lease())

    def counted() -> bool:
        after = bench.status().results
        return (after.refused, after.accepted) == (before.refused + 1, before.accepted)

    eventually(counted, lambda: f"after one refusal {before} became {bench.status().results}")


def eventually(holds: Callable[[], bool], otherwise: Callable[[], str]) -> None:
    """Raises Failed unless it holds within the time that an answer may be cached."""
    until = time.monotonic() + CACHED_S
    while not holds():
        demand(time.monotonic() < until, otherwise())
        time.sleep(0.2)
