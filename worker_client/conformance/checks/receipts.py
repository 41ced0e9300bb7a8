"""``/makbuz``: what became of one's own work."""

import secrets
from dataclasses import dataclass

from worker_client.conformance.bench import Bench, Lease, Volunteer, draw, parse
from worker_client.conformance.check import Absent, NotObservable, demand
from worker_client.conformance.checks import coordinator as check
from worker_client.conformance.checks.registering import registered
from worker_client.conformance.http import Reply, expect, expect_status
from worker_client.conformance.weights import sha256
from worker_client.contract import wire
from worker_client.contract.errors import Refusal

MOST_PAGES, HUNDRED = 20, 100


def receipts(bench: Bench, one: Volunteer, query: str = "") -> Reply:
    """Raises Absent without tokens or the endpoint."""
    if one.token is None:
        raise Absent("no /kayit, so no receipts")
    reply = bench.speak(one, "GET", f"/makbuz{query}")
    if reply.kod == Refusal.NOT_FOUND.code:
        raise Absent("no /makbuz")
    return expect_status(reply, 200)


@dataclass(frozen=True)
class Spent:
    """Two files that one worker delivered, one after the other; both were refused."""

    volunteer: Volunteer
    leases: list[Lease]
    bodies: list[bytes]


def spent(bench: Bench) -> Spent:
    if "spent" not in bench.scenes:
        leases, bodies = [], []
        for _ in range(2):
            lease, body = bench.lease(), secrets.token_bytes(40)
            bench.post(lease, body)
            bench.held.remove(lease)  # so that the same volunteer takes the next one
            leases.append(lease)
            bodies.append(body)
        bench.scenes["spent"] = Spent(leases[-1].volunteer, leases, bodies)
    return bench.scenes["spent"]


@check(
    "receipts-newest-first",
    'With the token → 200 `{"isci", "makbuz": [...], "once"?: N}`, newest first, at most 100',
)
def receipts_newest_first(bench: Bench) -> str:
    told = spent(bench)
    answer = parse(receipts(bench, told.volunteer), wire.Receipts)
    demand(answer.worker == told.volunteer.name, f"isci is {answer.worker}")
    demand(answer.receipts, "no receipt of a file that was delivered")
    newest = answer.receipts[0].lease_id
    demand(newest == told.leases[-1].id, f"the newest receipt is about {newest}")
    return f"{len(answer.receipts)} receipts"


@check(
    "receipts-fields",
    "Each receipt is about one delivered file: `gorev`, `is`, `tur`, `parca`, `sha256`, `boyut`, "
    "`durum` (as at `GET /sonuc`), `kod` (if refused)",
)
def receipts_fields(bench: Bench) -> None:
    told = spent(bench)
    lease, body = told.leases[-1], told.bodies[-1]
    found = parse(receipts(bench, told.volunteer), wire.Receipts).receipts[0]
    wanted = {
        "is": (found.job, "egit"),
        "tur": (found.round, lease.task.round),
        "parca": (found.shard, lease.task.shard),
        "sha256": (found.sha256, sha256(body)),
        "boyut": (found.size, len(body)),
        "durum": (found.fate, wire.ResultFate.REFUSED),
        "kod": (found.code, Refusal.CORRUPT_FILE.code),
    }
    odd = {name: pair for name, pair in wanted.items() if pair[0] != pair[1]}
    demand(not odd, f"found and expected: {odd}")


@check("receipts-pages", "`?once=N` gives the next ones, until an answer has no `once`.")
def receipts_pages(bench: Bench) -> str:
    told = spent(bench)
    found, pages = all_receipts(bench, told.volunteer)
    mine = {(one.id, sha256(body)) for one, body in zip(told.leases, told.bodies, strict=True)}
    demand(mine <= found, "a delivered file has no receipt on any page")
    return f"{len(found)} receipts on {pages} pages"


def all_receipts(bench: Bench, one: Volunteer) -> tuple[set[tuple[str, str]], int]:
    """Lease and digest of each, and on how many pages they came; raises Failed without an end."""
    found, pages = list[tuple[str, str]](), list[wire.Receipts]()
    while len(pages) < MOST_PAGES and (not pages or pages[-1].before is not None):
        query = f"?once={pages[-1].before}" if pages else ""
        pages.append(parse(receipts(bench, one, query), wire.Receipts))
        found += [(receipt.lease_id, receipt.sha256) for receipt in pages[-1].receipts]
    demand(pages[-1].before is None, f"after {len(pages)} pages there is still an `once`")
    demand(len(set(found)) == len(found), "a receipt came on two pages")
    return set(found), len(pages)


@check("receipts-hundred", "newest first, at most 100; `?once=N` gives the next ones")
def receipts_hundred(bench: Bench) -> str:
    told = spent(bench)
    receipts(bench, told.volunteer)
    lease = told.leases[-1]
    late = [secrets.token_bytes(40) for _ in range(HUNDRED)]  # each refused, for the task is over
    for body in late:
        bench.post(lease, body)
    found, pages = all_receipts(bench, told.volunteer)
    if len(found) < HUNDRED:
        raise NotObservable("files on a task that is over get no receipts, so there are too few")
    mine = {(lease.id, sha256(body)) for body in late} | {(lease.id, sha256(told.bodies[-1]))}
    demand(mine <= found, f"{len(mine - found)} of {len(mine)} files have no receipt on any page")
    return f"{len(found)} receipts on {pages} pages"


@check("receipts-stranger", "Without a token the coordinator knows: 401.")
def receipts_stranger(bench: Bench) -> None:
    receipts(bench, spent(bench).volunteer)
    for stranger in (Volunteer(draw()[0]), Volunteer(*draw())):
        expect(bench.speak(stranger, "GET", "/makbuz"), Refusal.TOKEN_REQUIRED)


@check(
    "receipts-sequence",
    "`sira`, where the coordinator heard one, is the highest that came with this token",
)
def receipts_sequence(bench: Bench) -> None:
    one = registered(bench)
    for sequence in (3, 8):
        reply = bench.ask(one, sira=sequence)
        expect_status(reply, 200, 204, 409)  # one task may be all that a worker gets
    told = receipts(bench, one).json.get("sira")
    demand(told == 8, f"sira 3 and 8 came with the token, and /makbuz says {told}")
