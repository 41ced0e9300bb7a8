"""``POST /gorev``: what a lease is, and who gets which."""

import secrets
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from worker_client.conformance.bench import Bench, known_format
from worker_client.conformance.check import NotObservable, demand
from worker_client.conformance.checks import coordinator as check
from worker_client.conformance.http import Reply, expect, expect_status
from worker_client.contract import wire
from worker_client.contract.encodings import CODECS
from worker_client.contract.errors import Refusal

SLACK_S = 3.0
OFFER = [wire.RAW_ENCODING, *CODECS]
FIELDS = (
    "gorev anahtar is tur tur_sayisi ic_adim bs seq lr tohum parca n_parca mod bicim recete "
    "taban_model kodlama sure son adaptor veri"
).split()


@check(
    "lease-fields",
    "200: `gorev`, `anahtar`, `is`, `tur`, `tur_sayisi`, `ic_adim`, `bs`, `seq`, `lr`, `tohum`, "
    "`parca`, `n_parca`, `mod`, `bicim`, `recete`, `taban_model`, `kodlama` (chosen), `sure`, "
    "`son`, `adaptor`, `veri` (or null: the worker uses its own data)",
)
def lease_fields(bench: Bench) -> str:
    lease = bench.lease()
    nullable = {"veri", "taban_model"}
    lacking = [name for name in FIELDS if name not in lease.reply.json and name not in nullable]
    demand(not lacking, f"the lease lacks {', '.join(lacking)}")
    demand(lease.task.job == wire.Job.TRAIN, f"is: {lease.task.job.value} without being asked")
    demand(lease.task.encoding == wire.RAW_ENCODING, "kodlama is one that was not offered")
    return f"round {lease.task.round}, shard {lease.task.shard} of {lease.task.shards}"


@check("lease-base", "`taban_model` is `id@revision`.")
def lease_base(bench: Bench) -> str:
    task = bench.lease().task
    known = known_format(task.format)
    demand(
        task.base_model == known.base_ref,
        f"taban_model is {task.base_model}, and {known.id}'s is {known.base_ref}",
    )
    return str(task.base_model)


@check("lease-no-store", "`Cache-Control: no-store`.")
def lease_no_store(bench: Bench) -> None:
    said = bench.lease().reply.headers.get("Cache-Control", "")
    demand("no-store" in said.lower(), f"Cache-Control: {said or 'none'} on a lease")


@check("lease-deadline", "how long the lease holds; when it ends (RFC 3339, UTC)")
def lease_deadline(bench: Bench) -> None:
    lease = bench.lease()
    end = lease.task.deadline
    offset = end.utcoffset()
    demand(offset is not None and not offset, f"son is {lease.reply.json['son']}, not UTC")
    date = lease.reply.headers.get("Date")
    answered = parsedate_to_datetime(date) if date else datetime.now(UTC)
    left = (end - answered.astimezone(UTC)).total_seconds()
    off = abs(left - lease.task.lease_seconds)
    demand(off <= SLACK_S, f"sure is {lease.task.lease_seconds} and son {left:.0f} s away")


@check(
    "lease-repeat",
    "The same `isci` and `istek` again while that lease lives get the same answer, so a lost "
    "answer leaks no lease.",
)
def lease_repeat(bench: Bench) -> None:
    lease = bench.lease()
    again = expect_status(bench.ask(lease.volunteer, lease.request_id), 200)
    changing = {"sure", "son"}  # seconds pass
    names = lease.reply.json.keys() | again.json.keys()
    odd = [n for n in names if lease.reply.json.get(n) != again.json.get(n) and n not in changing]
    demand(not odd, f"the same istek got another {', '.join(sorted(odd))}")


@check("lease-proof", "`istek` is the proof: pseudonyms are public.")
def lease_proof(bench: Bench) -> None:
    lease = bench.lease()
    reply = bench.ask(lease.volunteer)
    shown = reply.status == 200 and reply.json.get("anahtar") == lease.task.lease_key
    demand(not shown, "another istek under the same name got the key of a task that is not its own")
    theirs = bench.ask(bench.volunteer(), lease.request_id)
    shown = theirs.status == 200 and theirs.json.get("gorev") == lease.id
    demand(not shown, "another worker got a task that is not its own")


@check(
    "lease-one-per-unit",
    "A round has exactly one `egit` unit of work per `parca` it uses",
)
def lease_one_per_unit(bench: Bench) -> str:
    first = bench.lease()
    reply = first.reply
    while reply.status == 200 and len(bench.held) <= first.task.shards:
        reply = bench.ask(bench.volunteer())
    shards = sorted(lease.task.shard for lease in bench.held)
    rounds = {lease.task.round for lease in bench.held}
    demand(len(rounds) == 1, f"tasks of rounds {sorted(rounds)} at once")
    demand(len(set(shards)) == len(shards), f"live leases at once for parca {shards}")
    return f"{len(shards)} leases for {first.task.shards} shards"


@check("lease-nothing", "204: nothing to do now.")
def lease_nothing(bench: Bench) -> None:
    reply = all_leased(bench)
    expect_status(reply, 204)
    demand(not reply.body, "a 204 with a body")


@check("lease-nothing-wait", "`429`, `503` and 204 carry `Retry-After` (seconds).")
def lease_nothing_wait(bench: Bench) -> None:
    reply = all_leased(bench)
    said = reply.headers.get("Retry-After", "")
    demand(said.isdecimal(), f"{reply} has Retry-After: {said or 'none'}")


def all_leased(bench: Bench) -> Reply:
    """The answer to one more worker when every unit is leased."""
    first = bench.lease()
    for _ in range(first.task.shards):
        reply = bench.ask(bench.volunteer())
        if reply.status != 200:
            break
    if reply.kod == Refusal.WORKER_BUSY.code:
        raise NotObservable("one address may hold fewer tasks than there are units")
    return reply


@check("lease-jobs", "a worker gets only what its `isler` names")
def lease_jobs(bench: Bench) -> None:
    bench.spend(bench.lease())  # so a unit is free
    expect_status(bench.ask(bench.volunteer(), isler=["suite-unknown"]), 204)


@check(
    "lease-encodings", "A worker that offers no `kodlama` the run takes is told 409 `kodlama_yok`."
)
def lease_encodings(bench: Bench) -> None:
    bench.spend(bench.lease())
    reply = bench.ask(bench.volunteer(), kodlama=["suite-unknown"])
    expect(reply, Refusal.NO_COMMON_ENCODING)


@check(
    "lease-encoding-offered",
    "A coordinator asks for the run's encoding where the worker offers it, else for `ham`.",
)
def lease_encoding_offered(bench: Bench) -> str:
    bench.spend(bench.lease())
    chosen = bench.lease(kodlama=OFFER).task.encoding
    demand(chosen in OFFER, f"kodlama {chosen} was not offered")
    named = bench.about.encodings if bench.about else [chosen]
    of_the_run = set(named) & CODECS.keys() or set(named)
    demand(chosen in of_the_run, f"/bilgi names {', '.join(named)}, and kodlama is {chosen}")
    return chosen


@check("lease-request-used", "An `istek` whose lease has ended: 409 `istek_kullanildi`.")
def lease_request_used(bench: Bench) -> None:
    lease = bench.lease()
    bench.spend(lease)
    expect(bench.ask(lease.volunteer, lease.request_id), Refusal.REQUEST_USED)


@check(
    "lease-limit",
    "may hold only so many leases: else 409 `isci_mesgul` (`tekrar`: true, with `Retry-After`)",
)
def lease_limit(bench: Bench) -> str:
    greedy = bench.lease()
    bench.lease(patience=0)  # somebody else, so that the limit is not the lonely worker's
    for _ in range(greedy.task.shards):
        reply = bench.ask(greedy.volunteer, secrets.token_hex(16))
        if reply.status != 200:
            break
    if reply.status == 204:
        raise NotObservable(f"no free unit beyond {len(bench.held)} leases; try more shards")
    expect(reply, Refusal.WORKER_BUSY)
    said = reply.headers.get("Retry-After", "")
    demand(said.isdecimal(), f"{reply} has Retry-After: {said or 'none'}")
    return f"with {len(bench.held)} tasks leased"
