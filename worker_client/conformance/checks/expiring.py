"""What a lease's end brings about; needs a run with short leases."""

import time
from dataclasses import dataclass

from worker_client.conformance.bench import GRACE_S, LONGEST_LEASE_S, Bench, Delivered, Lease
from worker_client.conformance.check import Absent, Failed, NotObservable, demand
from worker_client.conformance.checks import coordinator as check
from worker_client.conformance.checks.chunks import announced
from worker_client.conformance.checks.progress import beat
from worker_client.conformance.http import Reply, expect, expect_status
from worker_client.contract.errors import Refusal


@dataclass(frozen=True)
class Story:
    """A lease that fell silent, the later one of its unit, and what each then heard."""

    silent: Lease
    silent_again: Reply
    later: Lease
    late: Delivered | Failed
    later_heard: Reply | None
    later_result: Reply
    stale: list[Lease]  # ended as silently, and nothing was ever delivered on it


def demand_short(lease: Lease) -> Lease:
    """Raises NotObservable where leases are too long to wait for."""
    seconds = lease.task.lease_seconds
    if seconds > LONGEST_LEASE_S:
        raise NotObservable(f"leases of {seconds} s; make a run with sure of 5 to 10")
    return lease


def sleep_out(lease: Lease) -> None:
    # A second more, since sure may have been rounded down.
    end = lease.granted + lease.task.lease_seconds + 1.5
    time.sleep(max(0.0, end - time.monotonic()))


def lease_of(bench: Bench, shard: int) -> Lease | None:
    """The next lease of a unit, others being held meanwhile; None if it does not come."""
    until = time.monotonic() + GRACE_S
    while time.monotonic() < until:
        reply = bench.ask(bench.volunteer())
        if reply.status != 200:
            time.sleep(0.2)
        elif bench.granted[-1].task.shard == shard:
            return bench.granted[-1]
    return None


def story(bench: Bench) -> Story:
    if "late" not in bench.scenes:
        silent = demand_short(bench.lease())
        stale = [bench.granted[-1]] if bench.ask(bench.volunteer()).status == 200 else []
        sleep_out(stale[0] if stale else silent)
        again = bench.ask(silent.volunteer, silent.request_id)
        bench.held = [lease for lease in bench.held if lease not in (silent, *stale)]
        later = lease_of(bench, silent.task.shard)
        if later is None:
            raise Failed(f"no new lease of parca {silent.task.shard} within {GRACE_S:.0f} s")
        bench.scenes["late"] = _tell(bench, silent, again, later, stale)
    return bench.scenes["late"]


def _tell(bench: Bench, silent: Lease, again: Reply, later: Lease, stale: list[Lease]) -> Story:
    late: Delivered | Failed
    try:
        late = bench.deliver(silent)
    except Failed as failed:
        late = failed
    try:
        heard = beat(bench, later)
    except Absent:
        heard = None
    other = bench.honest(later).file(bench.metadata(later))
    return Story(silent, again, later, late, heard, bench.post(later, other), stale)


@check("expired-request", "An `istek` whose lease has ended: 409 `istek_kullanildi`.")
def expired_request(bench: Bench) -> None:
    expect(story(bench).silent_again, Refusal.REQUEST_USED)


@check("expired-requeues", "An expired unit returns to the queue")
def expired_requeues(bench: Bench) -> None:
    told = story(bench)
    demand(told.later.id != told.silent.id, "the later lease has the earlier one's gorev")
    demand(told.later.task.lease_key != told.silent.task.lease_key, "both have one anahtar")


@check(
    "expired-still-taken",
    "a result of the expired lease, uploads included, is still taken while the round is open and "
    "no other result has been taken for the unit.",
)
def expired_still_taken(bench: Bench) -> None:
    told = story(bench)
    if isinstance(told.late, Failed):
        raise told.late


@check("expired-later-unwanted", "The later lease then hears `devam: false`.")
def expired_later_unwanted(bench: Bench) -> None:
    told = story(bench)
    if isinstance(told.late, Failed):
        raise NotObservable("the late result was not taken")
    if told.later_heard is None:
        raise Absent("no nabiz")
    heard = expect_status(told.later_heard, 200).json
    demand(heard.get("devam") is False, f"after the late result was taken it heard {heard}")


@check("expired-first-wins", "the first valid result wins")
def expired_first_wins(bench: Bench) -> None:
    told = story(bench)
    if isinstance(told.late, Failed):
        raise NotObservable("the late result was not taken")
    reply = told.later_result
    demand(reply.status != 200, f"{reply}: two results were taken for one unit")
    closed = (Refusal.UNIT_TAKEN.code, Refusal.ROUND_CLOSED.code)
    demand(reply.status == 409 and reply.kod in closed, f"{reply}, not 409 {closed[0]}")


@check("progress-keeps", "the lease extended up to the coordinator's maximum; or")
def progress_keeps(bench: Bench) -> None:
    lease = demand_short(bench.lease())
    beat(bench, lease)
    time.sleep(0.6 * lease.task.lease_seconds)
    beat(bench, lease)
    sleep_out(lease)
    demand(bench.lives(lease), "a lease ended at its first end although its worker had reported")


@check("chunk-keeps", "Each accepted `PATCH` extends the lease like `nabiz`.")
def chunk_keeps(bench: Bench) -> None:
    upload = announced(bench)
    lease = demand_short(upload.lease)
    time.sleep(0.6 * lease.task.lease_seconds)
    expect_status(upload.patch(0, upload.piece(0)), 204)
    sleep_out(lease)
    demand(bench.lives(lease), "a lease ended at its first end although a chunk had come")


@check("expired-upload", "a result of the expired lease, uploads included, is still taken")
def expired_upload(bench: Bench) -> None:
    upload = announced(bench)
    demand_short(upload.lease)
    piece = upload.piece(0)
    expect_status(upload.patch(0, piece), 204)
    time.sleep(upload.lease.task.lease_seconds + 0.5)
    reply = upload.patch(len(piece), upload.piece(len(piece)))
    demand(reply.status in (204, 200), f"{reply}: the upload of an expired lease was not taken up")
