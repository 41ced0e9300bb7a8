"""``/sonuc``: keys, lengths and digests, before anything is taken."""

from worker_client.conformance.bench import Bench, Lease, content_digest
from worker_client.conformance.check import NotObservable, demand
from worker_client.conformance.checks import coordinator as check
from worker_client.conformance.http import expect, expect_status
from worker_client.contract import LEASE_KEY_HEADER
from worker_client.contract.errors import Refusal

MIB = 2**20


def alive(bench: Bench, lease: Lease, after: str) -> None:
    demand(bench.lives(lease), f"the lease did not survive {after}")


@check("result-key", "All methods need `X-Modelen-Anahtar`.")
def result_key(bench: Bench) -> None:
    lease = bench.lease()
    body = bench.honest(lease).file(bench.metadata(lease))
    for key in (None, "k" * 64, ""):
        reply = bench.post(lease, body, {LEASE_KEY_HEADER: key})
        demand(reply.status != 200, f"{reply} with the key {key!r}")
        expect(reply, Refusal.LEASE_KEY_INVALID)
        reply = bench.http.send("GET", lease.address, headers={LEASE_KEY_HEADER: key})
        expect(reply, Refusal.LEASE_KEY_INVALID)
    alive(bench, lease, "a wrong key")


@check("result-foreign-key", "secret that proves the lease")
def result_foreign_key(bench: Bench) -> None:
    mine, theirs = bench.lease(), bench.lease()
    demand(mine.task.lease_key != theirs.task.lease_key, "two leases have the same anahtar")
    body = bench.honest(theirs).file(bench.metadata(theirs))
    expect(bench.post(theirs, body, mine.key), Refusal.LEASE_KEY_INVALID)


@check(
    "result-unknown-task",
    "`anahtar_gecersiz`, `gorev_yok`, `uzunluk_gerekli` (411), `cok_buyuk` (413)",
)
def result_unknown_task(bench: Bench) -> None:
    bench.demand_open()
    headers = {LEASE_KEY_HEADER: "k" * 64, "Content-Digest": content_digest(b"x")}
    path = "/sonuc?gorev=suite-no-such-task"
    expect(bench.http.send("POST", path, data=b"x", headers=headers), Refusal.LEASE_UNKNOWN)


@check("result-length", "`uzunluk_gerekli` (411)")
def result_length(bench: Bench) -> None:
    lease = bench.lease()
    headers = lease.key | {"Transfer-Encoding": "chunked", "Content-Digest": content_digest(b"x")}
    reply = bench.http.raw("POST", lease.address, headers, [b"1\r\nx\r\n0\r\n\r\n"])
    if reply is None:
        raise NotObservable("the line was closed at a body without a length")
    expect(reply, Refusal.LENGTH_REQUIRED)
    alive(bench, lease, "a body without a length")


@check("result-too-large", "a result has at most its manifest's bytes and 1 MiB for the header")
def result_too_large(bench: Bench) -> None:
    lease = bench.lease()
    size = bench.start(lease).values.nbytes + 2 * MIB
    headers = lease.key | {"Content-Length": str(size), "Content-Digest": content_digest(b"x")}
    reply = bench.http.raw("POST", lease.address, headers, [bytes(MIB)] * (size // MIB + 1))
    if reply is None:
        raise NotObservable("the line was closed before an answer")
    expect(reply, Refusal.TOO_LARGE)
    alive(bench, lease, "a file too large")


@check(
    "result-digest-required", "required, since no verdict is stored for bytes nobody vouched for"
)
def result_digest_required(bench: Bench) -> None:
    lease = bench.lease()
    body = bench.honest(lease).file(bench.metadata(lease))
    reply = bench.post(lease, body, {"Content-Digest": None})
    demand(reply.status != 200, "a result without Content-Digest was taken")
    expect_status(reply, 400)
    alive(bench, lease, "a missing Content-Digest")


@check(
    "result-digest-wrong",
    "A verdict is stored only for bytes whose digest was verified; a short or corrupt body stores "
    "nothing and leaves the lease alive.",
)
def result_digest_wrong(bench: Bench) -> None:
    lease = bench.lease()
    body = bench.honest(lease).file(bench.metadata(lease))
    damaged = body[:-1] + bytes([body[-1] ^ 1])
    reply = bench.post(lease, damaged, {"Content-Digest": content_digest(body)})
    demand(reply.status != 200, "a result whose digest is wrong was taken")
    expect(reply, Refusal.DIGEST_MISMATCH)
    alive(bench, lease, "a damaged body")


@check("result-short", "`govde_kisa` (shorter than announced)")
def result_short(bench: Bench) -> None:
    lease = bench.lease()
    body = bench.honest(lease).file(bench.metadata(lease))
    told = {"Content-Length": str(len(body)), "Content-Digest": content_digest(body)}
    reply = bench.http.raw("POST", lease.address, lease.key | told, [body[:-100]], cut=True)
    alive(bench, lease, "a body cut short")
    if reply is None:
        raise NotObservable("the server closes such a line without an answer; the lease lives")
    expect(reply, Refusal.BODY_SHORT)


@check("result-nothing-yet", "A worker keeps the result until it knows.")
def result_nothing_yet(bench: Bench) -> None:
    lease = bench.lease()
    reply = bench.fate(lease)
    told = reply.json.get("durum") if reply.status == 200 else None
    demand(told in (None, "bekliyor"), f"{reply} says {told} of a result that never came")
