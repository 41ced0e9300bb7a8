"""Over everything that was answered: headers, waits and codes; and what a short test cannot see."""

from collections import Counter

from worker_client.conformance.bench import Bench
from worker_client.conformance.check import NotObservable, demand
from worker_client.conformance.checks import coordinator as check
from worker_client.conformance.http import BUSY
from worker_client.contract import PROTOCOL_HEADER
from worker_client.contract.errors import Refusal

TABLE = {refusal.code: refusal for refusal in Refusal}


@check("all-versions", "answers carry it too.")
def all_versions(bench: Bench) -> str:
    without = [r for r in bench.http.journal if r.headers.get(PROTOCOL_HEADER) != "1"]
    demand(not without, f"{len(without)} answers lack {PROTOCOL_HEADER}: 1, as {without[:1]}")
    return f"{len(bench.http.journal)} answers"


@check("all-problems", "Errors are `application/problem+json` (RFC 9457)")
def all_problems(bench: Bench) -> str:
    errors = [r for r in bench.http.journal if r.status >= 400]
    kinds = Counter(r.headers.get("Content-Type", "").split(";")[0] for r in errors)
    other = {kind: n for kind, n in kinds.items() if kind != "application/problem+json"}
    demand(not other, f"errors came as {other}")
    return f"{len(errors)} errors"


@check(
    "all-codes", "stable machine-readable error code; whether the same request may succeed later"
)
def all_codes(bench: Bench) -> str:
    seen = {r.kod: r for r in bench.http.journal if r.kod in TABLE}
    for kod, reply in seen.items():
        wanted = (TABLE[kod].status, TABLE[kod].retry)
        found = (reply.status, reply.json.get("tekrar"))
        demand(found == wanted, f"{reply} with tekrar {found[1]}, not {wanted[0]}, {wanted[1]}")
    return f"{len(seen)} codes: {', '.join(sorted(seen))}"


@check("all-waits", "`429`, `503` and 204 carry `Retry-After` (seconds).")
def all_waits(bench: Bench) -> None:
    busy = [r for r in bench.http.journal if r.status in BUSY]
    if not busy:
        raise NotObservable("no 429 or 503 was answered; a busy coordinator shows it")
    without = [r for r in busy if not r.headers.get("Retry-After", "").isdecimal()]
    demand(not without, f"{without[:1]} has no Retry-After in seconds")


@check("no-mistake", "a run's own mistake is 500 `ic_hata` (`tekrar`: true).")
def no_mistake(bench: Bench) -> None:
    broken = [str(r) for r in bench.http.journal if r.status >= 500 and r.status not in BUSY]
    demand(not broken, f"nothing sent here is its mistake, and yet: {broken[:3]}")


@check("tasks-unique", "id of one leased attempt, `[A-Za-z0-9_-]{1,64}`, never used again")
def tasks_unique(bench: Bench) -> str:
    for place, what in ((2, "gorev"), (3, "anahtar")):
        used: dict[str, set[tuple[str, str]]] = {}
        for told in bench.answered:
            used.setdefault(told[place], set()).add(told[:2])
        again = [found for found, requests in used.items() if len(requests) > 1]
        shown = again[:1] if what == "gorev" else ""
        demand(not again, f"{len(again)} {what} of more than one lease request {shown}")
    return f"{len(bench.answered)} leases"


def unseen(id: str, clause: str, why: str) -> None:
    """Register a clause that no test from outside can show."""

    @check(id, clause)
    def not_observable(bench: Bench) -> None:
        raise NotObservable(why)


unseen(
    "unseen-deadline",
    "near the round's deadline an outstanding unit may be leased once more",
    "a round's deadline is beyond a short test",
)
unseen(
    "unseen-pause",
    "A paused run leases nothing (204) and merges nothing, but hears `nabiz` and takes results.",
    "only the operator can pause a run",
)
unseen(
    "unseen-disk-full",
    "`denetleniyor` (being received or checked), `disk_dolu`, `mesgul`",
    "a full disk or a busy server cannot be brought about from outside",
)
unseen(
    "unseen-screening",
    "Results are screened",
    "a round of this test has fewer results",
)
unseen(
    "unseen-paused-worker",
    "an admin has paused the worker; `detail` says why. Its leases have ended",
    "only the operator can pause or block a worker",
)
unseen(
    "unseen-approved",
    "In a closed run every endpoint but `/bilgi`, `/durum` and `/kayit` needs an approved token",
    "only the operator can approve a worker, so what an approved one may do stays unseen",
)
unseen(
    "unseen-names",
    "too many new names from this source address",
    "a test that ran into this limit could not go on",
)
unseen(
    "unseen-last-hundred",
    "the last 100 finished rounds",
    "a run of more than 100 rounds shows it",
)
unseen(
    "unseen-key",
    "The key is recomputed, not stored",
    "what a coordinator stores cannot be seen from outside",
)
unseen(
    "unseen-crash",
    "A coordinator killed at any instant resumes at the same round with the same bytes.",
    "only the operator can kill it",
)
