"""``fark``: the compressed way from one snapshot to the next."""

import numpy as np

from worker_client.conformance import weights
from worker_client.conformance.bench import Bench, Lease
from worker_client.conformance.check import Absent, NotObservable, demand
from worker_client.conformance.checks import coordinator as check
from worker_client.conformance.checks.rounds import of_round_two, snapshot
from worker_client.conformance.http import expect, expect_status
from worker_client.contract import wire
from worker_client.contract.encodings import CODECS
from worker_client.contract.errors import Refusal


def offered(bench: Bench) -> tuple[Lease, wire.DeltaRef]:
    """A lease of round 2, asked for with ``elde`` 1, and its update; raises Absent without."""
    lease = of_round_two(bench)
    if lease.task.delta is None:
        raise Absent("no fark with a lease of round 2, though elde was 1")
    return lease, lease.task.delta


@check(
    "update-offered",
    "A worker that says in `elde` that it holds snapshot t−1 is offered `fark` with its task: "
    "`tur` t−1, and the file at `GET /fark?tur=t`",
)
def update_offered(bench: Bench) -> str:
    _, ref = offered(bench)
    demand(ref.round == 1, f"fark leads from snapshot {ref.round}, and elde was 1")
    demand(ref.path == "/fark?tur=2", f"fark is at {ref.path}, not at /fark?tur=2")
    demand(ref.encoding in CODECS, f"fark comes in kodlama {ref.encoding}")
    return f"{ref.encoding}: {ref.size} bytes"


@check("update-file", "(path, digest in lower-case hex, bytes, preferred Range size)")
def update_file(bench: Bench) -> None:
    bench.file(offered(bench)[1])


@check("update-served", "Every file has a strong `ETag`, its sha256 in quotes, and answers")
def update_served(bench: Bench) -> None:
    _, ref = offered(bench)
    etag, whole = f'"{ref.sha256}"', bench.file(ref)
    head = expect_status(bench.http.send("HEAD", ref.path), 200)
    demand(head.headers.get("ETag") == etag, f"{head} has ETag {head.headers.get('ETag')}")
    expect_status(bench.http.fetch(ref.path, {"If-None-Match": etag}), 304)
    part = expect_status(bench.http.fetch(ref.path, {"Range": "bytes=8-99"}), 206)
    demand(part.body == whole[8:100], "Range: bytes=8-99 brought other bytes")


@check(
    "update-leads",
    "It adds the decoded delta to its weights in float32 and writes them behind the header of "
    "snapshot t",
)
def update_leads(bench: Bench) -> str:
    lease, ref = offered(bench)
    codec = CODECS[ref.encoding]
    before = weights.read_weights(snapshot(bench, ref.round), "snapshot 1")
    data, told = weights.read_delta(bench.file(ref), ref.path)
    named = told.get("kodlama", codec.id)
    demand(named == codec.id, f"the file says kodlama {named}, the lease {codec.id}")
    made = before.moved(weights.decode(codec, data, before.values.size))
    right = weights.read_weights(bench.snapshot(lease), "snapshot 2").values
    off = int(np.sum(made.values != right))
    demand(not off, f"{off} of {right.size} numbers differ from snapshot 2's")
    metadata = {"bicim": lease.task.format, "format": "pt", "tur": str(lease.task.round)}
    demand(made.file(metadata) == bench.snapshot(lease), "the numbers agree, the header differs")
    return f"{len(data)} bytes instead of {len(bench.snapshot(lease))}"


@check("update-not-held", "optional compressed way from an older snapshot to this one")
def update_not_held(bench: Bench) -> None:
    offered(bench)
    if bench.status().round != 2 or bench.is_published(2):
        raise NotObservable("round 2 is over")
    for held in ({"elde": None}, {"elde": 2}):
        lease = bench.lease(**held)
        demand(lease.task.delta is None, f"asked with {held} it offers a fark from snapshot 1")
        bench.spend(lease)


@check("update-none", "what does not exist is 404 `yok`")
def update_none(bench: Bench) -> None:
    offered(bench)
    expect(bench.http.send("GET", "/fark?tur=1"), Refusal.NOT_FOUND)
