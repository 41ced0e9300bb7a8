"""The last round, and what stays after it."""

from worker_client.conformance import weights
from worker_client.conformance.bench import Bench
from worker_client.conformance.check import NotObservable, demand
from worker_client.conformance.checks import coordinator as check
from worker_client.conformance.checks.rounds import published, snapshot
from worker_client.conformance.http import expect
from worker_client.contract import wire
from worker_client.contract.errors import Refusal


def finish(bench: Bench) -> int:
    """Bring the run to its end; its number of rounds. Raises NotObservable for a long run."""
    rounds = bench.status().rounds
    if rounds > 3:
        raise NotObservable(f"a run of {rounds} rounds; make one of 2")
    for number in range(1, rounds + 1):
        bench.finish_round(number)
    return rounds


@check("run-over", "410 `bitti`: the run is over")
def run_over(bench: Bench) -> None:
    finish(bench)
    expect(bench.ask(bench.volunteer()), Refusal.FINISHED)
    state = bench.status().state
    demand(state == wire.RunState.FINISHED, f"durum is {state.value} after the last round")


@check("run-last-snapshot", "the last is `tur_sayisi`+1 and stays fetchable after the run is over.")
def run_last_snapshot(bench: Bench) -> None:
    last = finish(bench) + 1
    row = published(bench, last - 1)
    found = weights.sha256(snapshot(bench, last))
    demand(found == row.sha256, f"/adaptor?tur={last} is not the file that gecmis names")


@check("file-retention", "Snapshots older than the retention: 410 `silindi`.")
def file_retention(bench: Bench) -> None:
    finish(bench)
    reply = bench.http.fetch("/adaptor?tur=1")
    if reply.status == 200:
        raise NotObservable("snapshot 1 is still kept; a longer run shows it")
    expect(reply, Refusal.DELETED)
