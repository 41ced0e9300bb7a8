"""Results that must not be taken, each with the code that says why."""

import json
import struct
from collections.abc import Callable

import numpy as np

from worker_client.conformance import weights
from worker_client.conformance.bench import Bench, Lease
from worker_client.conformance.check import NotObservable, demand
from worker_client.conformance.checks import coordinator as check
from worker_client.conformance.http import Reply, expect
from worker_client.contract.errors import Refusal

Make = Callable[[Bench, Lease], bytes]
BAD_FILE = (
    "`bozuk_dosya` (400), `eksik_tensor`, `fazla_tensor`, `yanlis_sekil`, `yanlis_tur`, "
    "`sonlu_degil`, `norm_asimi`"
)


def refused(bench: Bench, make: Make, refusal: Refusal) -> Lease:
    """Deliver what ``make`` makes on a fresh lease; raises Failed unless it is refused so."""
    lease = bench.lease()
    reply = bench.post(lease, make(bench, lease))
    demand(reply.status != 200, f"{reply}: it was accepted; {refusal.code} belongs there")
    expect(reply, refusal)
    return lease


def honest(bench: Bench, lease: Lease) -> bytes:
    return bench.honest(lease).file(bench.metadata(lease))


def split(bench: Bench, lease: Lease) -> tuple[list[weights.Spec], list[bytes]]:
    """An honest result as lists to change."""
    made = bench.honest(lease)
    return list(made.specs), [part.tobytes() for part in made.parts().values()]


def with_offsets(data: bytes, change: Callable[[dict], None]) -> bytes:
    """The file with a changed header of the same or another length."""
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    change(header)
    body = json.dumps(header).encode()
    return struct.pack("<Q", len(body)) + body + data[8 + length :]


def _first(header: dict) -> dict:
    return next(item for name, item in header.items() if name != "__metadata__")


def shift(header: dict) -> None:
    item = _first(header)
    item["data_offsets"] = [offset + 4 for offset in item["data_offsets"]]


@check("refuse-garbage", BAD_FILE)
def refuse_garbage(bench: Bench) -> None:
    refused(bench, lambda b, x: b"PK\x03\x04 no safetensors", Refusal.CORRUPT_FILE)
    refused(bench, lambda b, x: struct.pack("<Q", 2**62) + b"{}", Refusal.CORRUPT_FILE)
    refused(bench, lambda b, x: struct.pack("<Q", 4) + b"[{}]", Refusal.CORRUPT_FILE)


@check("refuse-truncated", BAD_FILE)
def refuse_truncated(bench: Bench) -> None:
    refused(bench, lambda b, x: honest(b, x)[:-4], Refusal.CORRUPT_FILE)
    refused(bench, lambda b, x: honest(b, x) + b"\0\0\0\0", Refusal.CORRUPT_FILE)


@check("refuse-offsets", "Offsets must tile the data exactly.")
def refuse_offsets(bench: Bench) -> None:
    refused(bench, lambda b, x: with_offsets(honest(b, x), shift), Refusal.CORRUPT_FILE)


@check("refuse-missing", BAD_FILE)
def refuse_missing(bench: Bench) -> None:
    def make(bench: Bench, lease: Lease) -> bytes:
        specs, parts = split(bench, lease)
        return weights.safetensors(specs[1:], parts[1:], bench.metadata(lease))

    refused(bench, make, Refusal.TENSOR_MISSING)


@check("refuse-extra", BAD_FILE)
def refuse_extra(bench: Bench) -> None:
    def make(bench: Bench, lease: Lease) -> bytes:
        specs, parts = split(bench, lease)
        specs.append(("suite.extra", "F32", (2,)))
        return weights.safetensors(specs, [*parts, bytes(8)], bench.metadata(lease))

    refused(bench, make, Refusal.TENSOR_EXTRA)


@check("refuse-shape", BAD_FILE)
def refuse_shape(bench: Bench) -> None:
    def make(bench: Bench, lease: Lease) -> bytes:
        specs, parts = split(bench, lease)
        name, dtype, shape = specs[0]
        specs[0] = (name, dtype, (*shape, 1))
        return weights.safetensors(specs, parts, bench.metadata(lease))

    refused(bench, make, Refusal.WRONG_SHAPE)


@check("refuse-dtype", BAD_FILE)
def refuse_dtype(bench: Bench) -> None:
    def make(bench: Bench, lease: Lease) -> bytes:
        specs, parts = split(bench, lease)
        name, _, shape = specs[0]
        specs[0] = (name, "I32", shape)
        return weights.safetensors(specs, parts, bench.metadata(lease))

    refused(bench, make, Refusal.WRONG_DTYPE)


def with_value(value: float) -> Make:
    """An honest result one number of which, the last, is ``value``."""

    def make(bench: Bench, lease: Lease) -> bytes:
        made = bench.honest(lease)
        made.values[-1] = value
        return made.file(bench.metadata(lease))

    return make


@check("refuse-nan", BAD_FILE)
def refuse_nan(bench: Bench) -> None:
    refused(bench, with_value(np.nan), Refusal.NOT_FINITE)


@check("refuse-infinite", BAD_FILE)
def refuse_infinite(bench: Bench) -> None:
    refused(bench, with_value(np.inf), Refusal.NOT_FINITE)
    refused(bench, with_value(-np.inf), Refusal.NOT_FINITE)


@check("refuse-huge", BAD_FILE)
def refuse_huge(bench: Bench) -> None:
    refused(bench, with_value(float(np.finfo(np.float32).max)), Refusal.NORM_EXCEEDED)


@check("refuse-norm", "the update's L2 norm is above 4 · `lr` · `ic_adim` · √parameters.")
def refuse_norm(bench: Bench) -> None:
    def make(bench: Bench, lease: Lease) -> bytes:
        start = bench.start(lease)
        norm = 1.2 * bench.norm_limit(lease, start)
        moved = start.moved(weights.noise(start.values.size, norm, 0))
        return moved.file(bench.metadata(lease))

    refused(bench, make, Refusal.NORM_EXCEEDED)


@check("refuse-encoding", "another file than the task's encoding is `yanlis_kodlama`")
def refuse_encoding(bench: Bench) -> None:
    def make(bench: Bench, lease: Lease) -> bytes:
        size = 2 * bench.start(lease).values.size
        told = bench.metadata(lease) | {"kodlama": "bf16"}
        return weights.safetensors([("delta", "U8", (size,))], [bytes(size)], told)

    refused(bench, make, Refusal.WRONG_ENCODING)


@check("refused-requeues", "ends, unit back in the queue")
def refused_requeues(bench: Bench) -> None:
    lease = refused(bench, lambda b, x: b"no safetensors", Refusal.CORRUPT_FILE)
    demand(not bench.lives(lease), "after a refusal the same istek still gets the task")
    for _ in range(lease.task.shards):
        if bench.lease(patience=2).task.shard == lease.task.shard:
            return
    raise NotObservable(f"no lease of parca {lease.task.shard} among all of them")


@check("refused-again", "a stored verdict for (lease, sha256) is given again, for at least 30 days")
def refused_again(bench: Bench) -> None:
    lease, body = bench.lease(), b"no safetensors file, sent twice"
    first = expect(bench.post(lease, body), Refusal.CORRUPT_FILE)
    again = bench.post(lease, body)
    demand((again.status, again.kod) == (first.status, first.kod), f"{first}, then {again}")


@check("refused-is-over", "`gorev_dolu` (another result, or other bytes, taken), `tur_kapandi`")
def refused_is_over(bench: Bench) -> None:
    lease = bench.lease()
    bench.spend(lease)
    reply: Reply = bench.post(lease, honest(bench, lease))
    demand(reply.status != 200, f"{reply}: a result on a task that a refusal has ended")
    expect(reply, Refusal.UNIT_TAKEN)


@check(
    "refused-fate",
    '"kod"?, "agirlik"?}`',
)
def refused_fate(bench: Bench) -> None:
    lease = bench.lease()
    bench.spend(lease)
    reply = bench.fate(lease)
    found = (reply.status, reply.json.get("durum"), reply.json.get("kod"))
    demand(found == (200, "ret", Refusal.CORRUPT_FILE.code), f"{reply} says {reply.json}")
