"""A closed run: what a stranger and a worker that waits for approval may do. Make one for this."""

from collections.abc import Iterator

from worker_client.conformance.bench import Bench, Volunteer, draw
from worker_client.conformance.check import NotObservable, demand
from worker_client.conformance.checks import coordinator as check
from worker_client.conformance.http import Reply, expect, expect_status
from worker_client.contract import LEASE_KEY_HEADER
from worker_client.contract.errors import Refusal

NEEDS_TOKEN = (
    "In a closed run every endpoint but `/bilgi`, `/durum` and `/kayit` needs an approved token: "
    "401, or 403 `onay_bekliyor` / `isci_engelli`."
)
OPTIONAL = ("/fark", "/makbuz", "/nabiz")


def demand_closed(bench: Bench) -> None:
    if not bench.is_closed:
        raise NotObservable("the run is open; make a closed one and try --only 'closed-*' there")


def each_endpoint(bench: Bench, one: Volunteer) -> Iterator[tuple[str, Reply]]:
    """Path and answer of every endpoint that needs a token, but what is optional and absent."""
    lease = {"isci": one.name, "istek": "0123456789abcdef" * 2}
    key = {LEASE_KEY_HEADER: "k" * 64}
    requests: list[tuple[str, str, dict]] = [
        ("POST", "/gorev", {"json": lease}),
        ("GET", "/adaptor?tur=1", {}),
        ("HEAD", "/adaptor?tur=1", {}),
        ("GET", "/veri?parca=0", {}),
        ("GET", "/fark?tur=2", {}),
        ("POST", "/gorev/suite-none/nabiz", {"json": {"anahtar": "k" * 64, "adim": 1}}),
        ("GET", "/sonuc?gorev=suite-none", {"headers": key}),
        ("POST", "/sonuc?gorev=suite-none", {"data": b"x", "headers": key}),
    ]
    for method, path, options in requests:
        reply = bench.speak(one, method, path, **options)
        absent = reply.kod == Refusal.NOT_FOUND.code and any(part in path for part in OPTIONAL)
        if not absent:
            yield method, reply


@check("closed-register", "Open runs approve at once, closed runs wait for an admin.")
def closed_register(bench: Bench) -> None:
    demand_closed(bench)
    reply = expect_status(bench.register(Volunteer(*draw())), 201)
    told = reply.json.get("durum")
    demand(told == "bekliyor", f"a new name in a closed run is {told}")


@check("closed-public", "In a closed run every endpoint but `/bilgi`, `/durum` and `/kayit`")
def closed_public(bench: Bench) -> None:
    demand_closed(bench)
    expect_status(bench.http.send("GET", "/bilgi"), 200, 404)
    expect_status(bench.http.send("GET", "/durum"), 200)


@check("closed-stranger", NEEDS_TOKEN)
def closed_stranger(bench: Bench) -> str:
    demand_closed(bench)
    name, unknown = draw()
    strangers = (Volunteer(name), Volunteer(name, unknown))
    replies = [pair for one in strangers for pair in each_endpoint(bench, one)]
    return demand_all(replies, Refusal.TOKEN_REQUIRED)


@check("closed-waiting", "an admin has still to approve the worker")
def closed_waiting(bench: Bench) -> str:
    demand_closed(bench)
    waiting = Volunteer(*draw())
    expect_status(bench.register(waiting), 201)
    return demand_all(list(each_endpoint(bench, waiting)), Refusal.AWAITING_APPROVAL)


def demand_all(replies: list[tuple[str, Reply]], refusal: Refusal) -> str:
    """Raises Failed unless each is this refusal; of HEAD the status alone is told."""
    for method, reply in replies:
        if method == "HEAD":
            expect_status(reply, refusal.status)
        else:
            expect(reply, refusal)
    return f"{len(replies)} answers"


@check("closed-receipts", "Without a token the coordinator knows: 401.")
def closed_receipts(bench: Bench) -> None:
    demand_closed(bench)
    reply = bench.speak(Volunteer(*draw()), "GET", "/makbuz")
    if reply.kod != Refusal.NOT_FOUND.code:
        expect(reply, Refusal.TOKEN_REQUIRED)
