"""``nabiz``: progress reports, and the promise of a digest."""

import time

from worker_client.conformance import weights
from worker_client.conformance.bench import Bench, Lease, parse
from worker_client.conformance.check import Absent, demand
from worker_client.conformance.checks import coordinator as check
from worker_client.conformance.http import Reply, expect, expect_status
from worker_client.contract import wire
from worker_client.contract.errors import Refusal


def beat(bench: Bench, lease: Lease, **fields: object) -> Reply:
    """One report; raises Absent where the coordinator takes none."""
    body = {"anahtar": lease.task.lease_key, "adim": 1, "kayip": 3.0} | fields
    reply = bench.speak(lease.volunteer, "POST", f"/gorev/{lease.id}/nabiz", json=body)
    if reply.status == 405 or (reply.status, reply.kod) == (404, Refusal.NOT_FOUND.code):
        raise Absent("no nabiz")
    return reply


@check(
    "progress-answer",
    '→ 200 `{"devam": true, "sure": 600, "son": "..."}` (seconds left, for clocks that are wrong)',
)
def progress_answer(bench: Bench) -> None:
    reply = expect_status(beat(bench, bench.lease()), 200)
    answer = parse(reply, wire.ProgressAnswer)
    demand(answer.go_on, "a fresh lease heard devam: false")
    demand(answer.lease_seconds and answer.deadline, f"{reply} lacks sure or son")


@check("progress-extends", "the lease extended up to the coordinator's maximum")
def progress_extends(bench: Bench) -> None:
    lease = bench.lease()
    beat(bench, lease)
    time.sleep(1.5)
    answer = parse(expect_status(beat(bench, lease), 200), wire.ProgressAnswer)
    later = answer.deadline is not None and answer.deadline > lease.task.deadline
    demand(later, f"after 1.5 s son went from {lease.task.deadline} to {answer.deadline}")


@check("progress-key", "secret that proves the lease")
def progress_key(bench: Bench) -> None:
    lease = bench.lease()
    beat(bench, lease)
    expect(beat(bench, lease, anahtar="k" * 64), Refusal.LEASE_KEY_INVALID)


@check("progress-json", "A JSON body that is not what an endpoint takes is 400 `gecersiz_istek`")
def progress_json(bench: Bench) -> None:
    lease = bench.lease()
    beat(bench, lease)
    for wrong in ({"adim": -1}, {"adim": "many"}, {"ozet": "F" * 64}, {"anahtar": 7}):
        expect(beat(bench, lease, **wrong), Refusal.BAD_REQUEST)
    demand(bench.lives(lease), "the lease did not survive a wrong nabiz")


@check("progress-unknown-task", "id of one leased attempt")
def progress_unknown_task(bench: Bench) -> None:
    lease = bench.lease()
    beat(bench, lease)
    body = {"anahtar": lease.task.lease_key, "adim": 1}
    reply = bench.http.send("POST", "/gorev/suite-no-such-task/nabiz", json=body)
    expect(reply, Refusal.LEASE_UNKNOWN)


@check("progress-unwanted", 'or `{"devam": false}`: no longer wanted, stop.')
def progress_unwanted(bench: Bench) -> None:
    lease = bench.lease()
    beat(bench, lease)
    bench.spend(lease)
    answer = parse(expect_status(beat(bench, lease), 200), wire.ProgressAnswer)
    demand(not answer.go_on, "a task that has ended heard devam: true")


@check(
    "progress-promise",
    "`ozet` is the finished result's sha256, told before the upload: what comes later must match "
    "it (422 `taahhut_uyusmuyor`)",
)
def progress_promise(bench: Bench) -> None:
    lease = bench.lease()
    promised = bench.honest(lease).file(bench.metadata(lease))
    expect_status(beat(bench, lease, ozet=weights.sha256(promised)), 200)
    other = bench.honest(lease).file(bench.metadata(lease))
    expect(bench.post(lease, other), Refusal.COMMITMENT_MISMATCH)


@check(
    "progress-promise-once",
    "what comes later must match it (422 `taahhut_uyusmuyor`), another `ozet` included.",
)
def progress_promise_once(bench: Bench) -> None:
    lease = bench.lease()
    for _ in range(2):  # the same one again is no other
        expect_status(beat(bench, lease, ozet="0" * 64), 200)
    expect(beat(bench, lease, ozet="1" * 64), Refusal.COMMITMENT_MISMATCH)
