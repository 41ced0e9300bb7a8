"""Results as encoded deltas; needs a run with an encoding of its own beside ``ham``."""

import struct
from collections.abc import Callable

import numpy as np

from worker_client.conformance import weights
from worker_client.conformance.bench import Bench, Delivered, Lease
from worker_client.conformance.check import Absent, NotObservable, demand
from worker_client.conformance.checks import coordinator as check
from worker_client.conformance.checks.leasing import OFFER
from worker_client.conformance.http import expect
from worker_client.contract import wire
from worker_client.contract.encodings import CODECS, Codec
from worker_client.contract.errors import Refusal

FORBIDDEN = (
    "Other scales, a byte of −128, four bits of 0, and positions outside their group or not "
    "ascending are refused as `bozuk_dosya`"
)
FIRST_GROUP = 8  # where topk's first positions begin, after two levels
Change = Callable[[bytearray], object]


def lease_encoded(bench: Bench) -> Lease:
    """A lease in the run's own encoding; raises Absent where it takes ``ham`` only."""
    if bench.about is not None and not set(bench.about.encodings) & CODECS.keys():
        raise Absent("this run takes ham only; make one with kodlama bf16, int8, int4 or topk")
    lease = bench.lease(kodlama=OFFER)
    if lease.task.encoding == wire.RAW_ENCODING:
        raise Absent("every encoding was offered, and ham asked for")
    demand(lease.task.encoding in CODECS, f"kodlama {lease.task.encoding} was not offered")
    return lease


def delta(bench: Bench, lease: Lease) -> tuple[weights.Weights, Codec, bytes]:
    """The snapshot, the lease's codec, and an honest delta in it."""
    start, codec = bench.start(lease), CODECS[lease.task.encoding]
    return start, codec, weights.encode(codec, bench.honest(lease).values - start.values)


def encoded(bench: Bench) -> Delivered:
    """An encoded result that was accepted."""
    if "encoded" not in bench.scenes:
        lease = lease_encoded(bench)
        start, codec, data = delta(bench, lease)
        vector = start.moved(weights.decode(codec, data, start.values.size))
        file = weights.delta_file(codec.id, data, bench.metadata(lease))
        delivered = Delivered(lease, vector, file, bench.post(lease, file))
        bench.scenes["encoded"] = bench.note(delivered)
    return bench.scenes["encoded"]


def refuse(bench: Bench, change: Change, refusal: Refusal, *only: str) -> str:
    """Deliver an honest delta after ``change``; raises Failed unless it is refused so.

    ``only`` are the encodings to which it applies.
    """
    lease = lease_encoded(bench)
    start, codec, data = delta(bench, lease)
    if only and codec.id not in only:
        raise NotObservable(f"this run has {codec.id}; one with {' or '.join(only)} shows it")
    changed = bytearray(data)
    change(changed)
    file = weights.delta_file(codec.id, bytes(changed), bench.metadata(lease))
    reply = bench.post(lease, file)
    demand(reply.status != 200, f"{reply}: it was accepted; {refusal.code} belongs there")
    expect(reply, refusal)
    return codec.id


def put(at: int, data: bytes) -> Change:
    def change(body: bytearray) -> None:
        body[at : at + len(data)] = data

    return change


@check(
    "encoding-taken",
    "one U8 tensor `delta` that holds the encoded bytes, and `kodlama` and the metrics in its "
    "`__metadata__`",
)
def encoding_taken(bench: Bench) -> str:
    delivered = encoded(bench)
    return f"{delivered.lease.task.encoding}: {len(delivered.file)} bytes"


@check("encoding-else-ham", "where the worker offers it, else for `ham`.")
def encoding_else_ham(bench: Bench) -> None:
    bench.spend(lease_encoded(bench))
    chosen = bench.lease(kodlama=[wire.RAW_ENCODING]).task.encoding
    demand(chosen == wire.RAW_ENCODING, f"only ham was offered, and kodlama is {chosen}")


@check("encoding-whole-refused", "another file than the task's encoding is `yanlis_kodlama`")
def encoding_whole_refused(bench: Bench) -> None:
    lease = lease_encoded(bench)
    file = bench.honest(lease).file(bench.metadata(lease))
    expect(bench.post(lease, file), Refusal.WRONG_ENCODING)


@check("encoding-other-refused", "another file than the task's encoding is `yanlis_kodlama`")
def encoding_other_refused(bench: Bench) -> None:
    lease = lease_encoded(bench)
    start, codec, data = delta(bench, lease)
    other = next(name for name in CODECS if name != codec.id)
    file = weights.delta_file(other, data, bench.metadata(lease))
    expect(bench.post(lease, file), Refusal.WRONG_ENCODING)


@check(
    "encoding-length",
    "All values are cut into chunks of 65,536 (the last may be shorter), encoded one by one and "
    "put one after another",
)
def encoding_length(bench: Bench) -> None:
    refuse(bench, lambda data: data.append(0), Refusal.CORRUPT_FILE)
    refuse(bench, lambda data: data.pop(), Refusal.CORRUPT_FILE)


@check("encoding-scale", "Scales and levels are 0 to 10^6.")
def encoding_scale(bench: Bench) -> None:
    for scale in (np.nan, np.inf, -1.0, 2e6):
        wrong = put(0, struct.pack("<f", scale))
        refuse(bench, wrong, Refusal.CORRUPT_FILE, "int8", "int4", "topk")


@check("encoding-minus-128", FORBIDDEN)
def encoding_minus_128(bench: Bench) -> None:
    refuse(bench, lambda data: put(len(data) - 1, b"\x80")(data), Refusal.CORRUPT_FILE, "int8")


@check("encoding-four-bits", FORBIDDEN)
def encoding_four_bits(bench: Bench) -> None:
    refuse(bench, lambda data: put(len(data) - 1, b"\x08")(data), Refusal.CORRUPT_FILE, "int4")


@check("encoding-positions", FORBIDDEN)
def encoding_positions(bench: Bench) -> None:
    # Three bytes of zeros are two positions that are both 0.
    refuse(bench, put(FIRST_GROUP, bytes(3)), Refusal.CORRUPT_FILE, "topk")


@check("encoding-not-finite", "`sonlu_degil`, `norm_asimi`, `yanlis_kodlama`")
def encoding_not_finite(bench: Bench) -> None:
    for bits in (b"\x80\x7f", b"\xc0\x7f"):  # infinity and NaN
        refuse(bench, put(0, bits), Refusal.NOT_FINITE, "bf16")


@check("encoding-norm", "everything said of digests, lengths and refusals holds.")
def encoding_norm(bench: Bench) -> None:
    lease = lease_encoded(bench)
    start, codec = bench.start(lease), CODECS[lease.task.encoding]
    limit, count = bench.norm_limit(lease, start), start.values.size
    far = weights.noise(count, limit, 0)
    kept = np.linalg.norm(weights.decode(codec, weights.encode(codec, far), count))
    data = weights.encode(codec, (far * (1.2 * limit / kept)).astype(weights.FLOAT32))
    file = weights.delta_file(codec.id, data, bench.metadata(lease))
    expect(bench.post(lease, file), Refusal.NORM_EXCEEDED)
