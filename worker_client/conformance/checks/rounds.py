"""From round to round: publishing, numbers and digests."""

import numpy as np

from worker_client.conformance import weights
from worker_client.conformance.bench import Bench, Lease, parse
from worker_client.conformance.check import Absent, Failed, NotObservable, demand
from worker_client.conformance.checks import coordinator as check
from worker_client.conformance.checks.accepting import taken, verdict_of
from worker_client.conformance.checks.expiring import story
from worker_client.conformance.checks.progress import beat
from worker_client.conformance.http import expect_status
from worker_client.contract import wire
from worker_client.contract.errors import Refusal


def published(bench: Bench, number: int) -> wire.FinishedRound:
    """A finished round's row; what it still lacks is delivered."""
    bench.finish_round(number)
    return next(row for row in bench.status().history if row.round == number)


def snapshot(bench: Bench, number: int) -> bytes:
    return expect_status(bench.http.fetch(f"/adaptor?tur={number}"), 200).body


def vector(bench: Bench, number: int) -> np.ndarray:
    return weights.read_weights(snapshot(bench, number), f"snapshot {number}").values


@check("round-published", "round N publishes N+1")
def round_published(bench: Bench) -> str:
    row = published(bench, 1)
    before, after = vector(bench, 1), vector(bench, 2)
    demand(before.shape == after.shape, "snapshot 2 has another size than snapshot 1")
    demand(np.isfinite(after).all(), "snapshot 2 has numbers that are not finite")
    demand((before != after).any(), "snapshot 2 is snapshot 1")
    return f"{row.accepted} results in {row.seconds:.1f} s"


@check("round-number", "the current round (from 1), how many there will be (1 to 10^6)")
def round_number(bench: Bench) -> None:
    published(bench, 1)
    status = bench.status()
    if status.rounds < 2:
        raise NotObservable("the run has one round; make one with two")
    demand(status.round >= 2, f"round 1 is published and tur is {status.round}")


@check("round-digest", "`gecmis` of round N carries the digest of N+1.")
def round_digest(bench: Bench) -> None:
    row = published(bench, 1)
    found = weights.sha256(snapshot(bench, 2))
    demand(row.sha256 == found, f"gecmis says {row.sha256}, /adaptor?tur=2 is {found}")


def of_round_two(bench: Bench) -> Lease:
    """A lease of round 2; raises NotObservable without one."""
    published(bench, 1)
    found = [lease for lease in bench.granted if lease.task.round == 2]
    if not found and bench.status().rounds > 1 and not bench.is_published(2):
        found = [bench.lease()]
    if not found:
        raise NotObservable("no lease of round 2 in this run; make one of two rounds")
    return found[0]


@check("round-next-starts-there", "Snapshot N is what round N starts from")
def round_next_starts_there(bench: Bench) -> None:
    row = published(bench, 1)
    told = of_round_two(bench).task.snapshot.sha256
    demand(told == row.sha256, f"round 2 starts from {told}, and gecmis says {row.sha256}")


@check(
    "round-counts",
    "`gecmis` (the last 100 finished rounds: `tur`, `kayip`, `kabul`, `elenen`, `sure_s`,",
)
def round_counts(bench: Bench) -> None:
    row = published(bench, 1)
    ours = len(bench.in_round(1))
    if row.accepted + row.screened != ours:
        raise Failed(f"this test delivered {ours} results in round 1, gecmis counts {row.accepted}")


@check("round-older", "older ones with `?once=TUR`")
def round_older(bench: Bench) -> None:
    published(bench, 1)
    older = parse(expect_status(bench.http.send("GET", "/durum?once=2"), 200), wire.Status)
    demand([row.round for row in older.history] == [1], "?once=2 does not bring round 1 alone")
    none = parse(expect_status(bench.http.send("GET", "/durum?once=1"), 200), wire.Status)
    demand(not none.history, "?once=1 brings rounds that are not older")


@check("round-verdict-stays", "also after the round is published: the same bytes count once.")
def round_verdict_stays(bench: Bench) -> None:
    first = taken(bench).first
    bench.finish_round(first.lease.task.round)
    verdict_of(bench.post(first.lease, first.file), first)


@check("round-fate", "A worker keeps the result until it knows.")
def round_fate(bench: Bench) -> str:
    first = taken(bench).first
    bench.finish_round(first.lease.task.round)
    fate = parse(expect_status(bench.fate(first.lease), 200), wire.Fate).fate
    demand(fate not in (wire.ResultFate.WAITING, wire.ResultFate.REFUSED), f"it is {fate.value}")
    return fate.value


@check("round-closed", "`gorev_dolu` (another result, or other bytes, taken), `tur_kapandi`")
def round_closed(bench: Bench) -> None:
    lease = old_lease(bench)
    bench.finish_round(lease.task.round)
    late = bench.honest(lease).file(bench.metadata(lease))
    reply = bench.post(lease, late)
    demand(reply.status != 200, f"{reply}: a result of a round that is over was taken")
    codes = (Refusal.ROUND_CLOSED.code, Refusal.UNIT_TAKEN.code)
    demand(reply.status == 409 and reply.kod in codes, f"{reply}, not 409 tur_kapandi")


@check("round-ends-leases", "Closing a round ends its leases.")
def round_ends_leases(bench: Bench) -> None:
    lease = old_lease(bench)
    bench.finish_round(lease.task.round)
    reply = bench.ask(lease.volunteer, lease.request_id)
    demand(reply.status != 200, f"{reply}: a lease of a round that is over lives")
    try:
        heard = expect_status(beat(bench, lease), 200).json
    except Absent:
        return
    demand(heard.get("devam") is False, f"in a round that is over it heard {heard}")


def old_lease(bench: Bench) -> Lease:
    """One that nothing was delivered on, if leases are short enough to expire; else any."""
    try:
        stale = story(bench).stale
    except NotObservable:
        stale = []
    return stale[0] if stale else bench.deliver(bench.lease()).lease
