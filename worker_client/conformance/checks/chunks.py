"""``PUT``, ``PATCH`` and ``HEAD /sonuc``: uploads that can be taken up again."""

from worker_client.conformance import weights
from worker_client.conformance.bench import Bench, Delivered, Lease
from worker_client.conformance.check import Absent, demand
from worker_client.conformance.checks import coordinator as check
from worker_client.conformance.http import Reply, expect, expect_status
from worker_client.contract import UPLOAD_OFFSET_HEADER
from worker_client.contract.errors import Refusal

MIB = 2**20
OTHER = "0" * 64


class Upload:
    """A result on its way in chunks; raises Absent where the coordinator takes none."""

    def __init__(self, bench: Bench, lease: Lease, body: bytes | None = None) -> None:
        self.bench, self.lease = bench, lease
        self.vector = bench.honest(lease)
        self.body = body or self.vector.file(bench.metadata(lease))
        self.chunk = 64 * 1024

    def announce(self, size: int | None = None, sha256: str | None = None) -> Reply:
        values = {"boyut": size or len(self.body), "sha256": sha256 or weights.sha256(self.body)}
        reply = self.put(values)
        if reply.status == 405:
            raise Absent("no resumable uploads: results are sent whole")
        if reply.status in (200, 201) and "parca_boyut" in reply.json:
            self.chunk = int(reply.json["parca_boyut"])
        return reply

    def put(self, body: object) -> Reply:
        return self._send("PUT", json=body)

    def patch(self, offset: int, data: bytes) -> Reply:
        headers = {UPLOAD_OFFSET_HEADER: str(offset), "Content-Type": "application/octet-stream"}
        return self._send("PATCH", data=data, headers=headers)

    def head(self) -> Reply:
        return self._send("HEAD")

    def piece(self, offset: int) -> bytes:
        """A small chunk, so that even a small file has several."""
        return self.body[offset : offset + min(self.chunk, len(self.body) // 3 + 1)]

    def send_all(self) -> Reply:
        """Every chunk in order; the last answer."""
        offset = 0
        while offset < len(self.body):
            reply = self.patch(offset, self.piece(offset))
            offset += len(self.piece(offset))
        return reply

    def _send(self, method: str, headers: dict[str, str] | None = None, **body: object) -> Reply:
        sent, one = self.lease.key | (headers or {}), self.lease.volunteer
        return self.bench.speak(one, method, self.lease.address, headers=sent, **body)


def announced(bench: Bench) -> Upload:
    upload = Upload(bench, bench.lease())
    expect_status(upload.announce(), 201)
    return upload


def offset_of(reply: Reply, expected: int) -> None:
    said = reply.headers.get(UPLOAD_OFFSET_HEADER)
    demand(said == str(expected), f"{reply} has {UPLOAD_OFFSET_HEADER}: {said}, not {expected}")


@check(
    "chunk-announce",
    '`PUT` JSON `{"boyut", "sha256"}` → 201 (again, same values: 200) `{"ofset", "parca_boyut"}`',
)
def chunk_announce(bench: Bench) -> str:
    upload = Upload(bench, bench.lease())
    for status in (201, 200):
        reply = expect_status(upload.announce(), status)
        demand(reply.json.get("ofset") == 0, f"{reply} has ofset {reply.json.get('ofset')}")
        chunk = reply.json.get("parca_boyut")
        fits = isinstance(chunk, int) and 64 * 1024 <= chunk <= 8 * MIB
        demand(fits, f"{reply} has parca_boyut {chunk}")
    return f"chunks of {chunk} bytes"


@check("chunk-json", "A JSON body that is not what an endpoint takes is 400 `gecersiz_istek`")
def chunk_json(bench: Bench) -> None:
    upload = announced(bench)
    good = {"boyut": 1000, "sha256": OTHER}
    bodies: list[object] = [
        {"sha256": OTHER},
        {"boyut": 1000},
        good | {"boyut": 0},
        good | {"boyut": "many"},
        good | {"sha256": "F" * 64},
        b"{",
    ]
    for body in bodies:
        expect(upload.put(body), Refusal.BAD_REQUEST)
    demand(bench.lives(upload.lease), "the lease did not survive a wrong PUT")


@check("chunk-not-announced", "before `PUT`, `PATCH` and `HEAD` are 409 `duyurulmadi`")
def chunk_not_announced(bench: Bench) -> None:
    announced(bench)
    upload = Upload(bench, bench.lease())
    expect(upload.patch(0, b"x"), Refusal.NOT_ANNOUNCED)
    expect_status(upload.head(), 409)


@check("chunk-offset", "→ 204 and the new `Upload-Offset`")
def chunk_offset(bench: Bench) -> None:
    upload = announced(bench)
    piece = upload.piece(0)
    offset_of(expect_status(upload.patch(0, piece), 204), len(piece))


@check("chunk-head", "`HEAD` → `Upload-Offset`")
def chunk_head(bench: Bench) -> None:
    upload = announced(bench)
    offset_of(expect_status(upload.head(), 200, 204), 0)
    piece = upload.piece(0)
    upload.patch(0, piece)
    offset_of(expect_status(upload.head(), 200, 204), len(piece))


@check("chunk-resume", "(again, same values: 200)")
def chunk_resume(bench: Bench) -> None:
    upload = announced(bench)
    piece = upload.piece(0)
    upload.patch(0, piece)
    reply = expect_status(upload.announce(), 200)
    told = reply.json.get("ofset")
    demand(told == len(piece), f"{len(piece)} bytes are there, and {reply} says ofset {told}")


@check("chunk-other-values", "other values restart at 0")
def chunk_other_values(bench: Bench) -> None:
    upload = announced(bench)
    upload.patch(0, upload.piece(0))
    reply = expect_status(upload.announce(sha256=OTHER), 200, 201)
    demand(reply.json.get("ofset") == 0, f"{reply} goes on at {reply.json.get('ofset')}")
    offset_of(upload.head(), 0)


@check("chunk-wrong-offset", "wrong offset: 409 `ofset_uyusmuyor` with the right one")
def chunk_wrong_offset(bench: Bench) -> None:
    upload = announced(bench)
    piece = upload.piece(0)
    upload.patch(0, piece)
    for wrong in (0, len(piece) + 1):
        reply = expect(upload.patch(wrong, piece), Refusal.OFFSET_MISMATCH)
        told = reply.json.get("ofset")
        demand(told == len(piece), f"{reply} says ofset {told}, and {len(piece)} is right")


@check("chunk-too-long", "at most `parca_boyut` bytes")
def chunk_too_long(bench: Bench) -> None:
    upload = Upload(bench, bench.lease())
    expect_status(upload.announce(size=bench.start(upload.lease).values.nbytes + MIB), 201)
    reply = upload.patch(0, bytes(upload.chunk + 1))
    demand(reply.status >= 400, f"{reply} for a chunk of {upload.chunk + 1} bytes")
    offset_of(upload.head(), 0)


@check("chunk-beyond", "A chunk that would end beyond the announced size is `cok_buyuk`.")
def chunk_beyond(bench: Bench) -> None:
    upload = Upload(bench, bench.lease())
    expect_status(upload.announce(size=100), 201)
    expect(upload.patch(0, bytes(101)), Refusal.TOO_LARGE)
    offset_of(upload.head(), 0)


@check(
    "chunk-size-limit",
    "size limit and free disk are checked here, before a byte travels (413, 507)",
)
def chunk_size_limit(bench: Bench) -> None:
    announced(bench)
    upload = Upload(bench, bench.lease())
    too_large = bench.start(upload.lease).values.nbytes + 2 * MIB
    expect(upload.announce(size=too_large), Refusal.TOO_LARGE)


@check("chunk-key", "All methods need `X-Modelen-Anahtar`.")
def chunk_key(bench: Bench) -> None:
    upload = announced(bench)
    upload.lease.task = upload.lease.task.model_copy(update={"lease_key": "k" * 64})
    for reply in (upload.announce(), upload.patch(0, upload.piece(0))):
        expect(reply, Refusal.LEASE_KEY_INVALID)
    expect_status(upload.head(), 403)


@check("chunk-damaged", "A damaged upload (`ozet_uyusmuyor`) starts again at 0 with a new `PUT`.")
def chunk_damaged(bench: Bench) -> None:
    lease = bench.lease()
    upload = Upload(bench, lease, b"not what was announced" * 100)
    digest = OTHER
    expect_status(upload.announce(sha256=digest), 201)
    reply = upload.send_all()
    demand(reply.status != 200, f"{reply}: the digest was not checked")
    expect(reply, Refusal.DIGEST_MISMATCH)
    again = expect_status(upload.announce(sha256=digest), 200, 201)
    demand(again.json.get("ofset") == 0, f"{again} goes on at {again.json.get('ofset')}")
    demand(bench.lives(lease), "the lease did not survive a damaged upload")


@check("chunk-refused", "The last one is answered like `POST`")
def chunk_refused(bench: Bench) -> None:
    upload = Upload(bench, bench.lease(), b"no safetensors file" * 10)
    expect_status(upload.announce(), 201)
    expect(upload.send_all(), Refusal.CORRUPT_FILE)


def deliver_in_chunks(bench: Bench) -> tuple[Delivered, Reply]:
    """An accepted result, and the answer to a ``PUT`` of the same values after it."""
    if "chunked" not in bench.scenes:
        upload = announced(bench)
        delivered = Delivered(upload.lease, upload.vector, upload.body, upload.send_all())
        bench.scenes["chunked"] = bench.note(delivered), upload.announce()
    return bench.scenes["chunked"]
