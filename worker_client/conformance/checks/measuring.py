"""``olc``: a snapshot's loss on held-out text, which the suite pretends to have measured."""

import json
import math
from dataclasses import dataclass

from worker_client.conformance import weights
from worker_client.conformance.bench import Bench, Lease, parse
from worker_client.conformance.check import Absent, NotObservable, demand
from worker_client.conformance.checks import coordinator as check
from worker_client.conformance.checks.reading import eventually
from worker_client.conformance.http import Reply, expect, expect_status
from worker_client.contract import wire
from worker_client.contract.errors import Refusal

JOB = [wire.Job.EVALUATE.value]
LOSS = 3.25


@dataclass(frozen=True)
class HeldOut:
    """A lease to measure, and how many tokens and bytes its data has to predict."""

    lease: Lease
    tokens: int
    utf8_bytes: int
    metadata: dict[str, str]

    def answer(self, **changes: object) -> bytes:
        """What a worker sends that found ``LOSS`` for each candidate."""
        losses = [LOSS] * len(self.lease.task.candidates or [])
        return json.dumps(
            {"kayip": losses, "token": self.tokens, "bayt": self.utf8_bytes} | changes
        ).encode()


def lease_held_out(bench: Bench) -> HeldOut:
    """Raises Absent unless the run says that it has snapshots measured, NotObservable without
    one to measure."""
    if bench.about is None or wire.Job.EVALUATE not in bench.about.jobs:
        raise Absent("isler in /bilgi does not name olc")
    reply = expect_status(bench.ask(bench.newcomer(), isler=JOB), 200, 204, 410)
    if reply.status != 200:
        raise NotObservable(f"{reply}: no snapshot is to be measured now")
    return held_out_of(bench, bench.granted[-1])


def held_out_of(bench: Bench, lease: Lease) -> HeldOut:
    data = lease.task.data
    demand(data, "a lease to measure without veri")
    assert data is not None
    header = weights.read_file(bench.file(data), data.path)
    rows, length = header.tensors["input_ids"].shape
    told = header.metadata
    return HeldOut(lease, rows * (length - 1), int(told.get("bayt", "0")), told)


@dataclass(frozen=True)
class Measured:
    held_out: HeldOut
    verdict: Reply
    fate: Reply


def measured(bench: Bench) -> Measured:
    if "measured" not in bench.scenes:
        held_out = lease_held_out(bench)
        lease = held_out.lease
        verdict = bench.post(lease, held_out.answer())
        bench.held.remove(lease)
        bench.scenes["measured"] = Measured(held_out, verdict, bench.fate(lease))
    return bench.scenes["measured"]


# First, for a snapshot is measured once.
@check("measure-refused", "Anything else is `bozuk_dosya`")
def measure_refused(bench: Bench) -> str:
    wrong: list[dict[str, object]] = [
        {"kayip": []},
        {"kayip": [math.nan]},
        {"kayip": [-1.0]},
        {"kayip": [2e6]},
        {"token": 1},
        {"bayt": -1},
    ]
    for changes in wrong:
        held_out = lease_held_out(bench)
        reply = bench.post(held_out.lease, held_out.answer(**changes))
        demand(reply.status != 200, f"{reply}: {changes} was accepted")
        expect(reply, Refusal.CORRUPT_FILE)
    return f"{len(wrong)} answers"


@check(
    "measure-lease",
    '`aday`: list of `{"adaptor": {...}, "sonuc"?: {...}, "kodlama"?, "veri"?: {...}, "parca"?}`, '
    "1 to 16; `veri` (held-out)",
)
def measure_lease(bench: Bench) -> str:
    task = measured(bench).held_out.lease.task
    demand(task.job == wire.Job.EVALUATE, f"olc was offered, and is says {task.job.value}")
    candidates = task.candidates or []
    for candidate in candidates:
        bench.file(candidate.snapshot)
    return f"{len(candidates)} candidates"


@check(
    "measure-data",
    "and optionally `token` (how many tokens are predicted in all rows: labels other than -100, "
    "but no row's first)",
)
def measure_data(bench: Bench) -> str:
    told = measured(bench).held_out
    if "token" not in told.metadata:
        raise Absent("no token in the metadata")
    found = told.metadata["token"]
    demand(found == str(told.tokens), f"token is {found}, and {told.tokens} are predicted")
    return f"{told.tokens} tokens of {told.utf8_bytes} bytes"


@check("measure-files", "The files are there for the holders of such leases only.")
def measure_files(bench: Bench) -> None:
    data = measured(bench).held_out.lease.task.data
    assert data is not None
    stranger = bench.newcomer()
    if stranger.token is None:
        raise NotObservable("without tokens nobody can be told from the holder")
    for path in {data.path, data.path.split("?")[0]}:
        reply = bench.speak(stranger, "GET", path)
        demand(reply.status not in (200, 206), f"{reply}: held-out text for one without a lease")


@check("measure-taken", 'JSON `{"kayip": [...], "token": n, "bayt": n}`, one loss per candidate')
def measure_taken(bench: Bench) -> None:
    told = measured(bench)
    verdict = parse(expect_status(told.verdict, 200), wire.Verdict)
    found = (verdict.accepted, verdict.lease_id)
    demand(found == (True, told.held_out.lease.id), f"{told.verdict} says {told.verdict.json}")


@check("measure-used", "its fate is `kullanildi`.")
def measure_used(bench: Bench) -> None:
    fate = parse(expect_status(measured(bench).fate, 200), wire.Fate).fate
    demand(fate == wire.ResultFate.USED, f"a measurement is {fate.value}")


@check("measure-told", "`kayip` (nats per token) and `bit_bayt` (bits per UTF-8 byte)")
def measure_told(bench: Bench) -> None:
    told = measured(bench).held_out
    if "olcum" not in bench.http.send("GET", "/durum").json:
        raise Absent("no olcum in /durum")

    def stands() -> bool:
        return any(row.loss == LOSS for row in bench.status().held_out)

    eventually(stands, lambda: f"a loss of {LOSS} was taken, and olcum does not tell it")
    row = next(row for row in bench.status().held_out if row.loss == LOSS)
    bits = LOSS * told.tokens / math.log(2) / told.utf8_bytes
    demand(
        math.isclose(row.bits_per_byte, bits, rel_tol=1e-3),
        f"bit_bayt is {row.bits_per_byte}, not {bits}",
    )
