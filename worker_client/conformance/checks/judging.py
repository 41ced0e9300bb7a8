"""``olc`` of a result that nobody repeats: losses before and after, which the suite pretends to
have measured. Checked from several addresses of this computer."""

from dataclasses import dataclass

import numpy as np

from worker_client.conformance import weights
from worker_client.conformance.bench import Bench, Delivered, Lease, Volunteer, parse
from worker_client.conformance.check import Absent, NotObservable, demand
from worker_client.conformance.checks import coordinator as check
from worker_client.conformance.checks.measuring import held_out_of
from worker_client.conformance.http import Reply, expect_status
from worker_client.contract import wire

JOB = [wire.Job.EVALUATE.value]
# Losses of a snapshot and of a result that was trained from it.
GOOD, BAD = (4.0, 3.5), (4.0, 4.5)
NOT_ASKED = "nobody was asked to measure a fresh result; one of an unproven worker may show it"


def measurers(bench: Bench) -> list[Volunteer]:
    """Two who offer to measure, each at an address of its own. Raises Absent unless the run says
    that it has something measured."""
    if bench.about is None or wire.Job.EVALUATE not in bench.about.jobs:
        raise Absent("isler in /bilgi does not name olc")
    if "measurers" not in bench.scenes:
        bench.scenes["measurers"] = [bench.neighbour(number) for number in (2, 3)]
        bench.chores.append(lambda: measure_what_is_asked(bench))
    return bench.scenes["measurers"]


def measure_what_is_asked(bench: Bench) -> None:
    """Find plausible whatever the measurers are given, which they are heard by, too."""
    for one in measurers(bench):
        while bench.ask(one, isler=JOB).status == 200:
            expect_status(answer(bench, bench.granted[-1], GOOD), 200, 409)


def answer(bench: Bench, lease: Lease, losses: tuple[float, float]) -> Reply:
    """Deliver these losses, of snapshots and of results."""
    told = [losses[one.result is not None] for one in lease.task.candidates or []]
    reply = bench.post(lease, held_out_of(bench, lease).answer(kayip=told))
    bench.held.remove(lease)
    return reply


def is_about_a_result(reply: Reply) -> bool:
    candidates = parse(reply, wire.Task).candidates if reply.status == 200 else None
    return any(one.result for one in candidates or [])


def lease_measurement(bench: Bench, one: Volunteer) -> Lease:
    """Raises NotObservable if it is not given."""
    reply = bench.ask(one, isler=JOB)
    if not is_about_a_result(reply):
        raise NotObservable(f"{reply}: {NOT_ASKED}")
    return bench.granted[-1]


def fate(bench: Bench, lease: Lease) -> wire.Fate:
    return parse(expect_status(bench.fate(lease), 200), wire.Fate)


@dataclass(frozen=True)
class Judged:
    """A result that was found plausible, and what its author and a neighbour were given before;
    ``file`` is what there was to be measured."""

    author: Delivered
    to_author: Reply
    to_neighbour: Reply
    lease: Lease
    file: bytes
    verdict: Reply
    after: wire.Fate


def judged(bench: Bench) -> Judged:
    if "judged" not in bench.scenes:
        first, _ = measurers(bench)
        measure_what_is_asked(bench)
        author = bench.deliver(bench.lease())
        to_author = bench.ask(author.lease.volunteer, isler=JOB)
        to_neighbour = bench.ask(bench.newcomer(), isler=JOB)
        lease = lease_measurement(bench, first)
        results = [one.result for one in lease.task.candidates or [] if one.result]
        file = bench.file(results[0])
        verdict = answer(bench, lease, GOOD)
        after = fate(bench, author.lease)
        told = (author, to_author, to_neighbour, lease, file, verdict, after)
        bench.scenes["judged"] = Judged(*told)
    return bench.scenes["judged"]


@check(
    "judge-pairs",
    "Its candidates are pairs, the snapshot that the result began at and the result: on held-out "
    "text,",
)
def judge_pairs(bench: Bench) -> str:
    told = judged(bench)
    task, candidates = told.author.lease.task, told.lease.task.candidates or []
    befores, afters = candidates[::2], candidates[1::2]
    paired = len(befores) == len(afters) and not any(one.result for one in befores)
    demand(paired and all(one.result for one in afters), "aday is not snapshot, result, in turn")
    starts = {one.snapshot.sha256 for one in candidates}
    demand(starts == {task.snapshot.sha256}, "a candidate begins at another snapshot")
    for pair in zip(befores, afters, strict=True):
        on = [(one.data and one.data.sha256, one.shard) for one in pair]
        demand(on[0] == on[1], f"the two of a pair are measured on {on}")
    demand((befores[0].data, befores[0].shard) == (None, None), "the first pair is on a shard")
    return f"{len(candidates)} candidates"


@check(
    "judge-shards",
    "and in a run that serves data also on the rows that its own shard's training takes and on "
    "those of another shard.",
)
def judge_shards(bench: Bench) -> None:
    told = judged(bench)
    task, candidates = told.author.lease.task, told.lease.task.candidates or []
    if task.data is None or task.shards < 2:
        raise NotObservable("the run serves no data, or one shard only")
    shards = [one.shard for one in candidates[2::2]]
    own = len(shards) == 2 and shards[0] == task.shard
    demand(own and shards[1] != task.shard, f"measured on parca {shards} of one of {task.shard}")
    found = candidates[2].data
    demand(found and found.sha256 == task.data.sha256, "veri is not the shard that was trained on")


@check("judge-result", "or as `vektor`: float32 in manifest order and nothing else.")
def judge_result(bench: Bench) -> str:
    told = judged(bench)
    encoding = next(one.encoding for one in told.lease.task.candidates or [] if one.result)
    if encoding == wire.VECTOR_ENCODING:
        found = np.frombuffer(told.file[: len(told.file) // 4 * 4], "<f4")
        demand(len(told.file) % 4 == 0, f"a vektor of {len(told.file)} bytes")
    elif encoding == wire.RAW_ENCODING:
        found = weights.read_weights(told.file, "the result").values
    else:
        raise NotObservable(f"the result is measured in {encoding}")
    same = found.tobytes() == told.author.vector.values.astype("<f4").tobytes()
    demand(same, f"the {encoding} to measure has other numbers than the result that was delivered")
    return encoding


@check("judge-others", "an `olc` lease may measure it instead, with the same rules for who may.")
def judge_others(bench: Bench) -> None:
    told = judged(bench)
    for who, reply in (("its author", told.to_author), ("a neighbour", told.to_neighbour)):
        demand(not is_about_a_result(reply), f"{who} was asked to measure a result: {reply}")
