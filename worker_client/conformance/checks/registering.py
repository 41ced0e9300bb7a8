"""``/kayit``: pseudonyms that belong to whoever registered them."""

import secrets
from typing import Any

from worker_client.conformance.bench import Bench, Volunteer, draw
from worker_client.conformance.check import Absent, demand
from worker_client.conformance.checks import coordinator as check
from worker_client.conformance.http import Reply, expect, expect_status
from worker_client.contract.errors import Refusal


def register(bench: Bench, name: str, token: str, **fields: Any) -> Reply:
    """Raises Absent without the endpoint."""
    reply = bench.register(Volunteer(name, token), **fields)
    if reply.status in (404, 405):
        raise Absent("no /kayit: anybody works under any name")
    return reply


def registered(bench: Bench) -> Volunteer:
    """A new pseudonym that may work; raises NotObservable in a closed run."""
    name, token = draw()
    reply = expect_status(register(bench, name, token), 201)
    if reply.json.get("durum") != "onayli":
        bench.demand_open()
    return Volunteer(name, token)


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


@check("register-name", "the worker's pseudonym: 3 to 32 of `a-z 0-9 - _`; no personal data")
def register_name(bench: Bench) -> None:
    for name in ("ab", "x" * 33, "Suite", "suite name", "süit", ""):
        expect(register(bench, name, draw()[1]), Refusal.BAD_REQUEST)


@check("register-listed", "the volunteer's choice to stand on the run's public leaderboard")
def register_listed(bench: Bench) -> None:
    name, token = draw()
    for listed in (True, False):
        expect_status(register(bench, name, token, liste=listed), 201)
    expect(register(bench, name, token, liste="perhaps"), Refusal.BAD_REQUEST)


@check("register-foreign", "a token that does not belong to `isci` is 403 `isci_uyusmuyor`")
def register_foreign(bench: Bench) -> None:
    owner, other = registered(bench), registered(bench)
    expect(bench.ask(Volunteer(owner.name, other.token)), Refusal.TOKEN_MISMATCH)


@check(
    "register-unknown-token",
    "the token belongs to another name, to nobody, or not to the holder of this lease",
)
def register_unknown_token(bench: Bench) -> None:
    registered(bench)
    expect(bench.ask(Volunteer(*draw())), Refusal.TOKEN_MISMATCH)


@check(
    "register-lease",
    "a lease held by a registered worker with that worker's token or none (its key is the proof).",
)
def register_lease(bench: Bench) -> None:
    other, lease = registered(bench), bench.lease()
    if lease.volunteer.token is None:
        raise Absent("no /kayit: anybody works under any name")
    reply = bench.speak(other, "GET", lease.address, headers=lease.key)
    expect(reply, Refusal.TOKEN_MISMATCH)
    bare = bench.http.send("GET", lease.address, headers=lease.key)
    expect_status(bare, 200, 404)


@check("register-protects", "A name that somebody registered is used with its token only")
def register_protects(bench: Bench) -> None:
    owner = registered(bench)
    expect(bench.ask(Volunteer(owner.name)), Refusal.TOKEN_REQUIRED)
    expect_status(bench.ask(owner), 200, 204)


@check("register-bearer", "401 (with `WWW-Authenticate: Bearer`)")
def register_bearer(bench: Bench) -> None:
    name, token = draw()
    expect_status(register(bench, name, token), 201)
    reply = expect(bench.ask(Volunteer(name)), Refusal.TOKEN_REQUIRED)
    scheme = reply.headers.get("WWW-Authenticate", "")
    demand(scheme.lower().startswith("bearer"), f"{reply} has WWW-Authenticate: {scheme or 'none'}")


@check(
    "register-sequence",
    "A new `istek` whose `sira` is not above the highest that came with this token is 409 "
    "`isci_kopya`: two computers work with copies of one state folder.",
)
def register_sequence(bench: Bench) -> None:
    one, request_id = registered(bench), secrets.token_hex(16)
    expect_status(bench.ask(one, request_id, sira=5), 200, 204)
    again = bench.ask(one, request_id, sira=5)
    demand(again.kod != Refusal.STATE_COPIED.code, f"{again}: a repeated istek is no copy")
    expect(bench.ask(one, secrets.token_hex(16), sira=5), Refusal.STATE_COPIED)
