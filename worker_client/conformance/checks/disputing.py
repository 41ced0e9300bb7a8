"""``dogrula`` when repetitions differ. Late, since what is left out spoils the reference step."""

from dataclasses import dataclass

from worker_client.conformance.bench import Bench, Delivered
from worker_client.conformance.check import Failed, NotObservable, demand
from worker_client.conformance.checks import coordinator as check
from worker_client.conformance.checks.repeating import (
    JOB,
    deliver_to_repeat,
    demand_job,
    fate,
    lease_repetition,
    repeat,
)
from worker_client.conformance.http import Reply, expect_status
from worker_client.contract import wire


@dataclass(frozen=True)
class Disputed:
    """A result with which two repetitions disagree that agree with each other."""

    author: Delivered
    after_one: wire.Fate
    again: Reply
    after_two: wire.Fate


def disputed(bench: Bench) -> Disputed:
    if "disputed" not in bench.scenes:
        demand_job(bench)
        if bench.status().rounds < 3:
            raise NotObservable("make a run of 3 rounds: the last is for disputes")
        bench.finish_round(2)
        author = deliver_to_repeat(bench)
        other = bench.honest(author.lease)
        first, second = bench.repeaters
        expect_status(repeat(bench, lease_repetition(bench, first, author), other), 200)
        after_one = fate(bench, author.lease)
        neighbour = bench.neighbour(2)
        again = bench.ask(neighbour, isler=JOB)
        if after_one.fate == wire.ResultFate.WAITING:
            expect_status(repeat(bench, lease_repetition(bench, second, author), other), 200)
        bench.scenes["disputed"] = Disputed(author, after_one, again, fate(bench, author.lease))
    return bench.scenes["disputed"]


@check(
    "dispute-goes-on",
    "After one that differs a second verifier is asked, from a third address, and two against one "
    "decide.",
)
def dispute_goes_on(bench: Bench) -> None:
    told = disputed(bench)
    found = told.after_one.fate
    demand(found == wire.ResultFate.WAITING, f"one repetition differed, and it was {found.value}")
    demand(told.again.status != 200, f"a second one from one address was asked for: {told.again}")


@check("dispute-lost", "A result found invalid is `elendi` with `kod` `dogrulama_tutmadi`")
def dispute_lost(bench: Bench) -> None:
    found = disputed(bench).after_two
    wanted = (wire.ResultFate.SCREENED, "dogrulama_tutmadi")
    demand((found.fate, found.code) == wanted, f"two repetitions agreed against it, it is {found}")


@check("dispute-frees", "in both cases its shard is free again for others.")
def dispute_frees(bench: Bench) -> None:
    told = disputed(bench)
    unit = (told.author.lease.task.round, told.author.lease.task.shard)
    for _ in range(told.author.lease.task.shards):
        try:
            task = bench.lease(patience=5).task
        except NotObservable:
            break
        if (task.round, task.shard) == unit:
            return
    status = bench.status()
    if status.round != unit[0] or status.state != wire.RunState.OPEN:
        raise NotObservable(f"round {unit[0]} was over before parca {unit[1]} was leased again")
    raise Failed(f"parca {unit[1]} was left out, and nobody is given it again")
