"""``/kayit``: pseudonyms that belong to whoever registered them."""

import secrets

from worker_client.conformance.bench import Bench, Volunteer, parse
from worker_client.conformance.check import Absent, NotObservable, demand
from worker_client.conformance.checks import coordinator as check
from worker_client.conformance.http import Reply, expect, expect_status
from worker_client.contract import wire
from worker_client.contract.errors import Refusal

TOKEN_BYTES = 32


def register(bench: Bench, name: str, token: str) -> Reply:
    """Raises Absent without the endpoint."""
    reply = bench.http.send("POST", "/kayit", json={"isci": name, "belirtec": token})
    if reply.status in (404, 405):
        raise Absent("no /kayit: anybody works under any name")
    return reply


def draw() -> tuple[str, str]:
    return f"suite-{secrets.token_hex(6)}", f"mwk_{secrets.token_urlsafe(TOKEN_BYTES)}"


@check("register-new", '→ 201 `{"durum": "onayli" | "bekliyor"}`')
def register_new(bench: Bench) -> str:
    reply = expect_status(register(bench, *draw()), 201)
    demand(reply.json.get("durum") in ("onayli", "bekliyor"), f"{reply} says {reply.json}")
    return str(reply.json["durum"])


@check("register-again", "the same pair again gets the same answer")
def register_again(bench: Bench) -> None:
    pair = draw()
    first, second = register(bench, *pair), register(bench, *pair)
    same = (first.status, first.json) == (second.status, second.json)
    demand(same, f"first {first} {first.json}, then {second} {second.json}")


@check("register-taken", "a taken name with another secret is 409 `isci_dolu`")
def register_taken(bench: Bench) -> None:
    name, token = draw()
    expect_status(register(bench, name, token), 201)
    reply = register(bench, name, draw()[1])
    expect(reply, Refusal.NAME_TAKEN)


@check("register-secret", "the secret drawn by the worker (at least 192 bits")
def register_secret(bench: Bench) -> None:
    name, token = draw()
    register(bench, name, token)
    reply = register(bench, draw()[0], "mwk_short")
    expect(reply, Refusal.BAD_REQUEST)


@check("register-foreign", "a token that does not belong to `isci` is 403 `isci_uyusmuyor`")
def register_foreign(bench: Bench) -> None:
    (owner, _), (other, token) = draw(), draw()
    for name, secret in ((owner, draw()[1]), (other, token)):
        expect_status(register(bench, name, secret), 201)
    expect(bench.ask(Volunteer(owner, token)), Refusal.TOKEN_MISMATCH)


@check("register-protects", "A name that somebody registered is used with its token only")
def register_protects(bench: Bench) -> None:
    name, token = draw()
    answer = register(bench, name, token)
    if answer.json.get("durum") != "onayli":
        raise NotObservable("the run is closed: nobody works without an approved token")
    expect(bench.ask(Volunteer(name)), Refusal.TOKEN_REQUIRED)
    expect_status(bench.ask(Volunteer(name, token)), 200, 204)


@check(
    "register-sequence",
    "A new `istek` whose `sira` is not above the highest that came with this token is 409 "
    "`isci_kopya`: two computers work with copies of one state folder.",
)
def register_sequence(bench: Bench) -> None:
    name, token = draw()
    if register(bench, name, token).json.get("durum") != "onayli":
        raise NotObservable("the run is closed: nobody works without an approved token")
    one, request_id = Volunteer(name, token), secrets.token_hex(16)
    expect_status(bench.ask(one, request_id, sira=5), 200, 204)
    again = bench.ask(one, request_id, sira=5)
    demand(again.kod != Refusal.STATE_COPIED.code, f"{again}: a repeated istek is no copy")
    expect(bench.ask(one, secrets.token_hex(16), sira=5), Refusal.STATE_COPIED)


@check(
    "register-receipts",
    'With the token → 200 `{"isci", "makbuz": [...], "once"?: N}`, newest first',
)
def register_receipts(bench: Bench) -> str:
    for _ in range(2):
        lease = bench.lease()
        bench.spend(lease)
        bench.held.remove(lease)  # so that the same volunteer takes the next one
    if lease.volunteer.token is None:
        raise Absent("no /kayit, so no receipts")
    headers = {"Authorization": f"Bearer {lease.volunteer.token}"}
    reply = bench.http.send("GET", "/makbuz", headers=headers)
    if reply.status == 404:
        raise Absent("no /makbuz")
    receipts = parse(expect_status(reply, 200), wire.Receipts)
    demand(receipts.receipts, "no receipt of a file that was delivered")
    newest = reply.json["makbuz"][0]
    told = (newest.get("gorev"), newest.get("durum"))
    demand(told == (lease.id, "ret"), f"the newest receipt says {told}")
    stranger = {"Authorization": f"Bearer {draw()[1]}"}
    expect_status(bench.http.send("GET", "/makbuz", headers=stranger), 401)
    return f"{len(receipts.receipts)} receipts"
