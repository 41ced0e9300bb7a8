"""The reference step, computed again from what this test delivered."""

from worker_client.conformance import weights
from worker_client.conformance.bench import Bench
from worker_client.conformance.check import NotObservable, demand
from worker_client.conformance.checks import coordinator as check
from worker_client.conformance.checks.encodings import encoded
from worker_client.conformance.checks.rounds import published, vector
from worker_client.contract import wire


def demand_reference(bench: Bench, rounds: int) -> None:
    """Raises NotObservable unless the reference step is declared and all results are ours."""
    reply = bench.http.send("GET", "/bilgi")
    rule = reply.json.get("birlestirme") if reply.status == 200 else None
    if rule != wire.REFERENCE_MERGE:
        raise NotObservable(f"birlestirme in /bilgi is {rule!r}, not {wire.REFERENCE_MERGE!r}")
    for number in range(1, rounds + 1):
        row, ours = published(bench, number), bench.in_round(number)
        if (row.accepted, row.screened) != (len(ours), 0):
            raise NotObservable(f"round {number} merged {row.accepted} of {len(ours)} results")


def demand_step(bench: Bench, rounds: int) -> str:
    """Raises Failed unless the last snapshot is what the rounds' results make of the first."""
    w, b = vector(bench, 1), None
    for number in range(1, rounds + 1):
        results = [delivered.vector.values for delivered in bench.in_round(number)]
        w, b = weights.nesterov(vector(bench, number), results, b)
    off = weights.ulps(w, vector(bench, rounds + 1))
    demand(off <= 1, f"snapshot {rounds + 1} is up to {off:g} ulp from the reference step")
    return f"within {off:g} ulp"


@check(
    "merge-first",
    "(summed in float64 in order of `parca`, rounded to float32 once)",
)
def merge_first(bench: Bench) -> str:
    demand_reference(bench, 1)
    return demand_step(bench, 1)


@check(
    "merge-encoded",
    "Every other encoding is of the float32 delta (trained − snapshot) in manifest order.",
)
def merge_encoded(bench: Bench) -> str:
    number = encoded(bench).lease.task.round
    demand_reference(bench, number)
    return demand_step(bench, number)


@check(
    "merge-momentum", "g = w − w̄; b ← μ·b + g; w ← w − η·(g + μ·b), in float32, η = 1.0, μ = 0.5"
)
def merge_momentum(bench: Bench) -> str:
    if bench.status().rounds < 2:
        raise NotObservable("the run has one round; make one with two")
    demand_reference(bench, 2)
    return demand_step(bench, 2)
