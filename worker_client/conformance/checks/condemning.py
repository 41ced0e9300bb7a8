"""``olc`` of a result: what follows from its losses. Late, since what is left out spoils the
reference step, and the round of what is not may end meanwhile."""

from dataclasses import dataclass

from worker_client.conformance.bench import Bench
from worker_client.conformance.check import demand
from worker_client.conformance.checks import coordinator as check
from worker_client.conformance.checks.judging import (
    BAD,
    JOB,
    answer,
    fate,
    is_about_a_result,
    judged,
    lease_measurement,
    measure_what_is_asked,
    measurers,
)
from worker_client.conformance.http import Reply, expect_status
from worker_client.contract import wire


@check("judge-plausible", "One measurement that finds it plausible is enough;")
def judge_plausible(bench: Bench) -> None:
    told = judged(bench)
    expect_status(told.verdict, 200)
    valid = (wire.ResultFate.WAITING, wire.ResultFate.MERGED)
    demand(told.after.fate in valid, f"found plausible it is {told.after}")
    bench.finish_round(told.author.lease.task.round)
    found = fate(bench, told.author.lease)
    demand(found.fate == wire.ResultFate.MERGED, f"after its round a plausible result is {found}")


@dataclass(frozen=True)
class Condemned:
    """A result's fate after one and after two who found it implausible; between them somebody
    else at the first one's address asked."""

    after_one: wire.Fate
    again: Reply
    after_two: wire.Fate


def condemned(bench: Bench) -> Condemned:
    if "condemned" not in bench.scenes:
        first, second = measurers(bench)
        measure_what_is_asked(bench)
        author = bench.deliver(bench.lease()).lease
        expect_status(answer(bench, lease_measurement(bench, first), BAD), 200)
        after_one = fate(bench, author)
        again = bench.ask(bench.neighbour(2), isler=JOB)
        if after_one.fate == wire.ResultFate.WAITING:
            expect_status(answer(bench, lease_measurement(bench, second), BAD), 200)
        bench.scenes["condemned"] = Condemned(after_one, again, fate(bench, author))
    return bench.scenes["condemned"]


@check(
    "judge-second",
    "after one that does not, a second is asked, from a third address, and two against one decide.",
)
def judge_second(bench: Bench) -> None:
    told = condemned(bench)
    found = told.after_one.fate
    demand(found == wire.ResultFate.WAITING, f"one found it implausible, and it was {found.value}")
    demand(not is_about_a_result(told.again), f"a second from one address: {told.again}")


@check("judge-implausible", "A result found implausible is `elendi` with `kod` `olcum_tutmadi`")
def judge_implausible(bench: Bench) -> None:
    found = condemned(bench).after_two
    wanted = (wire.ResultFate.SCREENED, "olcum_tutmadi")
    demand((found.fate, found.code) == wanted, f"two found it implausible, and it is {found}")
