"""Results that are taken: the verdict, the same bytes again, other bytes, any order."""

from dataclasses import dataclass

import numpy as np

from worker_client.conformance.bench import Bench, Delivered, parse
from worker_client.conformance.check import demand
from worker_client.conformance.checks import coordinator as check
from worker_client.conformance.checks.chunks import deliver_in_chunks
from worker_client.conformance.checks.reading import eventually
from worker_client.conformance.http import Reply, expect, expect_status
from worker_client.conformance.weights import sha256
from worker_client.contract import wire
from worker_client.contract.errors import Refusal


@dataclass(frozen=True)
class Taken:
    """An accepted result and what was answered afterwards."""

    first: Delivered
    before: wire.ResultCounts
    again: Reply
    other: Reply
    fate: Reply
    request: Reply


def taken(bench: Bench) -> Taken:
    if "taken" not in bench.scenes:
        before, first = bench.status().results, bench.deliver(bench.lease())
        lease = first.lease
        other = bench.honest(lease).file(bench.metadata(lease))
        bench.scenes["taken"] = Taken(
            first=first,
            before=before,
            again=bench.post(lease, first.file),
            other=bench.post(lease, other),
            fate=bench.fate(lease),
            request=bench.ask(lease.volunteer, lease.request_id),
        )
    return bench.scenes["taken"]


def verdict_of(reply: Reply, delivered: Delivered) -> None:
    """Raises Failed unless ``reply`` is the acceptance of ``delivered``."""
    verdict, lease = parse(expect_status(reply, 200), wire.Verdict), delivered.lease
    found = (verdict.accepted, verdict.lease_id, verdict.round, verdict.sha256)
    wanted = (True, lease.id, lease.task.round, sha256(delivered.file))
    demand(found == wanted, f"{reply} says {reply.json}")


@check(
    "accepted", '200 `{"kabul": true, "gorev", "tur", "sha256"}`: valid, and waiting for the merge.'
)
def accepted(bench: Bench) -> None:
    told = taken(bench)
    verdict_of(told.first.reply, told.first)


@check("accepted-again", "After the key, a stored verdict for (lease, sha256) is given again")
def accepted_again(bench: Bench) -> None:
    told = taken(bench)
    verdict_of(told.again, told.first)


@check("accepted-once", "the same bytes count once")
def accepted_once(bench: Bench) -> None:
    told = taken(bench)
    more = len(bench.delivered) - bench.delivered.index(told.first)

    def counted() -> bool:
        return bench.status().results.accepted == told.before.accepted + more

    eventually(
        counted,
        lambda: (
            f"kabul went from {told.before.accepted} to {bench.status().results.accepted} "
            f"for {more} results, one of them sent twice"
        ),
    )


@check("accepted-other-bytes", "`gorev_dolu` (another result, or other bytes, taken)")
def accepted_other_bytes(bench: Bench) -> None:
    reply = taken(bench).other
    demand(reply.status != 200, f"{reply}: a second result was taken on one lease")
    codes = (Refusal.UNIT_TAKEN.code, Refusal.ROUND_CLOSED.code)
    demand(reply.status == 409 and reply.kod in codes, f"{reply}, not 409 gorev_dolu")


@check("accepted-request-used", "An `istek` whose lease has ended: 409 `istek_kullanildi`.")
def accepted_request_used(bench: Bench) -> None:
    reply = taken(bench).request
    if reply.status != 410:
        expect(reply, Refusal.REQUEST_USED)


@check("accepted-fate", '`GET` → `{"durum": "bekliyor" | "birlesti"')
def accepted_fate(bench: Bench) -> None:
    fate = parse(expect_status(taken(bench).fate, 200), wire.Fate).fate
    known = (wire.ResultFate.WAITING, wire.ResultFate.MERGED)
    demand(fate in known, f"a fresh result is {fate.value}")


@check("accepted-chunks", "The last one is answered like `POST`")
def accepted_chunks(bench: Bench) -> None:
    delivered, _ = deliver_in_chunks(bench)
    verdict_of(delivered.reply, delivered)


@check(
    "accepted-chunks-again",
    "a `PUT` of the same values when all bytes are there starts the check (again) and is answered "
    "like `POST` too.",
)
def accepted_chunks_again(bench: Bench) -> None:
    delivered, again = deliver_in_chunks(bench)
    verdict_of(again, delivered)


@check(
    "accepted-any-order",
    "The file may order its tensors as it likes; the server reads by name",
)
def accepted_any_order(bench: Bench) -> None:
    lease = bench.lease()
    backwards = np.arange(len(bench.start(lease).specs))[::-1]
    delivered = bench.deliver(lease, order=backwards)
    verdict_of(delivered.reply, delivered)
