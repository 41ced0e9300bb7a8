"""``dogrula``: results repeated by others. Checked from several addresses of this computer."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from worker_client.conformance import weights
from worker_client.conformance.bench import POLL_S, Bench, Delivered, Lease, Volunteer, parse
from worker_client.conformance.check import Absent, NotObservable, demand
from worker_client.conformance.checks import coordinator as check
from worker_client.conformance.http import Reply, expect_status
from worker_client.contract import wire

# How long a round that lacks a verdict alone is watched.
WATCH_S = 2.0
JOB = [wire.Job.VERIFY.value]
HEDEF = (
    "tur tur_sayisi ic_adim bs seq lr tohum parca n_parca mod bicim recete taban_model "
    "belirtec_sha256 kodlama adaptor veri"
).split()
NOT_ASKED = "nobody was asked to repeat a fresh result; one of an unproven worker may show it"


def demand_job(bench: Bench) -> None:
    """Raises Absent unless the run says that it has results repeated."""
    if bench.about is None or wire.Job.VERIFY not in bench.about.jobs:
        raise Absent("isler in /bilgi does not name dogrula")


def repeaters(bench: Bench) -> list[Volunteer]:
    """Two who offer to repeat, each at an address of its own, and have been heard."""
    demand_job(bench)
    if not bench.repeaters:
        two = [bench.neighbour(number) for number in (2, 3)]
        for one in two:
            expect_status(bench.ask(one, isler=JOB), 204)
        bench.repeaters = two
    return bench.repeaters


def deliver_to_repeat(bench: Bench) -> Delivered:
    """A result taken in while everything before it is settled and repeaters are there."""
    repeaters(bench)
    bench.repeat_what_is_asked()
    return bench.deliver(bench.lease())


def lease_repetition(bench: Bench, one: Volunteer, of: Delivered) -> Lease:
    """Raises NotObservable if it is not given."""
    reply = bench.ask(one, isler=JOB)
    task = parse(reply, wire.Task) if reply.status == 200 else None
    about = task and (task.training.round, task.training.shard)
    if about != (of.lease.task.round, of.lease.task.shard):
        raise NotObservable(f"{reply}: {NOT_ASKED}")
    return bench.granted[-1]


def repeat(bench: Bench, lease: Lease, vector: weights.Weights) -> Reply:
    reply = bench.post(lease, vector.file(bench.metadata(lease)))
    bench.held.remove(lease)
    return reply


def fate(bench: Bench, lease: Lease) -> wire.Fate:
    return parse(expect_status(bench.fate(lease), 200), wire.Fate)


@dataclass(frozen=True)
class Waiting:
    """A result under check and its fate then, what its author and a neighbour were given, a lease
    to repeat it, and whether its round was published with everything else there."""

    author: Delivered
    fate: wire.Fate
    to_author: Reply
    to_neighbour: Reply
    lease: Lease
    published: bool


def waiting(bench: Bench) -> Waiting:
    if "waiting" not in bench.scenes:
        author = deliver_to_repeat(bench)
        number = author.lease.task.round
        told = fate(bench, author.lease)
        to_author = bench.ask(author.lease.volunteer, isler=JOB)
        # Somebody else at the author's address.
        to_neighbour = bench.ask(bench.newcomer(), isler=JOB)
        lease = lease_repetition(bench, bench.repeaters[0], author)
        bench.fill_round(number)
        published = comes_true(lambda: bench.is_published(number), WATCH_S)
        scene = Waiting(author, told, to_author, to_neighbour, lease, published)
        bench.scenes["waiting"] = scene
    return bench.scenes["waiting"]


def comes_true(holds: Callable[[], bool], seconds: float) -> bool:
    until = time.monotonic() + seconds
    while not (found := holds()) and time.monotonic() < until:
        time.sleep(POLL_S)
    return found


@dataclass(frozen=True)
class Agreed:
    """What became of a result that waited, and of a repetition that agrees with it."""

    waiting: Waiting
    verdict: Reply
    after: wire.Fate
    used: wire.Fate


def agreed(bench: Bench) -> Agreed:
    if "agreed" not in bench.scenes:
        told = waiting(bench)
        verdict = repeat(bench, told.lease, told.author.vector)
        after, used = fate(bench, told.author.lease), fate(bench, told.lease)
        bench.scenes["agreed"] = Agreed(told, verdict, after, used)
    return bench.scenes["agreed"]


@check("verify-lease", "`hedef`: the fields of the training task to repeat")
def verify_lease(bench: Bench) -> None:
    told = agreed(bench).waiting
    found, wanted = told.lease.reply.json["hedef"], told.author.lease.reply.json
    odd = [name for name in HEDEF if found.get(name) != wanted.get(name)]
    demand(not odd, f"hedef is not the author's task: {', '.join(odd)}")


@check("verify-copy", "and is what is trained; the same fields beside it are a copy.")
def verify_copy(bench: Bench) -> None:
    lease = agreed(bench).waiting.lease.reply.json
    odd = [name for name in HEDEF if lease["hedef"].get(name) != lease.get(name)]
    demand(not odd, f"beside hedef stand other values of {', '.join(odd)}")


@check("verify-nothing-told", "Nothing of the author's result is in it.")
def verify_nothing_told(bench: Bench) -> None:
    told = agreed(bench).waiting
    lease, body = told.author.lease, told.lease.reply.body.decode()
    secrets = {
        "digest": weights.sha256(told.author.file),
        "gorev": lease.id,
        "anahtar": lease.task.lease_key,
        "name": lease.volunteer.name,
    }
    shown = [what for what, text in secrets.items() if text in body]
    demand(not shown, f"the lease shows the author's {', '.join(shown)}")


@check(
    "verify-others",
    "`dogrula` is never leased to the author, nor to the same source address",
)
def verify_others(bench: Bench) -> None:
    told = agreed(bench).waiting
    for who, reply in (("its author", told.to_author), ("a neighbour", told.to_neighbour)):
        demand(reply.status != 200, f"{who} was asked to repeat a result: {reply}")


@check("verify-waits", "A result under check is held out of the merge until its verdict")
def verify_waits(bench: Bench) -> None:
    told = waiting(bench)
    demand(told.fate.fate == wire.ResultFate.WAITING, f"under check a result was {told.fate}")
    number = told.author.lease.task.round
    demand(not told.published, f"round {number} was published while a result was under check")


@check("verify-accepted", "the repeated result, as a file")
def verify_accepted(bench: Bench) -> None:
    told = agreed(bench)
    verdict = parse(expect_status(told.verdict, 200), wire.Verdict)
    demand((verdict.accepted, verdict.lease_id) == (True, told.waiting.lease.id), f"{verdict}")


@check("verify-used", "The repetition itself is never merged: its fate is `kullanildi`.")
def verify_used(bench: Bench) -> None:
    found = agreed(bench).used.fate
    demand(found == wire.ResultFate.USED, f"a repetition is {found.value}")


@check("verify-agrees", "One agreeing repetition makes a result valid.")
def verify_agrees(bench: Bench) -> None:
    told = agreed(bench)
    valid = (wire.ResultFate.WAITING, wire.ResultFate.MERGED)
    demand(told.after.fate in valid, f"after a repetition that agrees it is {told.after}")
    author = told.waiting.author
    bench.finish_round(author.lease.task.round)
    found = fate(bench, author.lease)
    demand(found.fate == wire.ResultFate.MERGED, f"after its round a valid result is {found}")
