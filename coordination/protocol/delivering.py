"""``/sonuc``: deliver a result, whole or in chunks, and learn what became of it."""

import base64
import hashlib
import re
import secrets
from collections.abc import Callable
from pathlib import Path

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase

from coordination.leases.extend import extend_lease
from coordination.leases.find import find_lease
from coordination.models import Lease, Result, Run, Upload, Worker
from coordination.protocol.http import (
    content_length,
    json_answer,
    read_message,
    worker_view,
)
from coordination.results import uploads
from coordination.results.fate import fate_of
from coordination.results.receive import receive_result, stored_verdict
from coordination.storage import demand_space
from coordination.tallies.gather import count_bytes
from worker_client.contract import LEASE_KEY_HEADER, UPLOAD_OFFSET_HEADER
from worker_client.contract.errors import Refusal, Refused
from worker_client.contract.wire import Announcement, UploadState, Verdict

PIECE_BYTES = 1 << 20
_CONTENT_DIGEST = re.compile(r"sha-256=:([A-Za-z0-9+/]{43}=):")


@worker_view("GET", "HEAD", "POST", "PUT", "PATCH")
def sonuc(request: HttpRequest, run: Run, caller: Worker | None) -> HttpResponseBase:
    token = request.GET.get("gorev", "")
    lease = find_lease(run, token, request.headers.get(LEASE_KEY_HEADER, ""), caller)
    return METHODS[str(request.method)](request, run, lease)


def _get(request: HttpRequest, run: Run, lease: Lease) -> HttpResponseBase:
    return json_answer(fate_of(lease))


def _head(request: HttpRequest, run: Run, lease: Lease) -> HttpResponseBase:
    uploads.announced(lease)
    return _offset_answer(uploads.offset(lease))


def _put(request: HttpRequest, run: Run, lease: Lease) -> HttpResponseBase:
    announcement = read_message(request, Announcement)
    known = stored_verdict(lease, announcement.sha256)
    if known:
        return _verdict(known)
    is_new = uploads.announce(run, lease, announcement)
    offset = uploads.offset(lease)
    if offset == announcement.size:
        with uploads.exclusive(lease.token):
            return _finish(run, lease, uploads.announced(lease))
    state = UploadState(offset=offset, chunk_bytes=run.chunk_bytes)
    response = json_answer(state, status=201 if is_new else 200)
    response.headers[UPLOAD_OFFSET_HEADER] = str(offset)
    return response


def _patch(request: HttpRequest, run: Run, lease: Lease) -> HttpResponseBase:
    upload = uploads.announced(lease)
    length = content_length(request)
    if length > run.chunk_bytes:
        raise Refused(Refusal.TOO_LARGE, f"send at most {run.chunk_bytes} bytes in one PATCH")
    with uploads.exclusive(lease.token) as file:
        offset = uploads.append(file, upload, _claimed_offset(request), request, length)
        _count(run, lease, length)
        extend_lease(run, lease)
        if offset == upload.size:
            return _finish(run, lease, upload)
    return _offset_answer(offset)


def _count(run: Run, lease: Lease, length: int) -> None:
    count_bytes(run.pk, lease.unit.round.number, lease.worker_id, up=length)


def _claimed_offset(request: HttpRequest) -> int:
    value = request.headers.get(UPLOAD_OFFSET_HEADER, "")
    if not (value.isascii() and value.isdigit() and len(value) <= 15):
        raise Refused(Refusal.BAD_REQUEST, f"say in {UPLOAD_OFFSET_HEADER} where the chunk begins")
    return int(value)


def _finish(run: Run, lease: Lease, upload: Upload) -> HttpResponseBase:
    """Check a completely uploaded file; the caller holds it exclusively."""
    path = uploads.upload_path(lease.token)
    if _sha256(path) != upload.sha256:
        uploads.forget(lease)
        raise Refused(Refusal.DIGEST_MISMATCH, "the file arrived damaged; announce and send again")
    try:
        result = receive_result(run, lease, path, upload.sha256)
    except Refused as refused:
        if refused.refusal is not Refusal.DISK_FULL:
            uploads.forget(lease)
        raise
    uploads.forget(lease)
    return _verdict(result)


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _post(request: HttpRequest, run: Run, lease: Lease) -> HttpResponseBase:
    """The whole file in one body, hashed while it is written down."""
    length, digest = content_length(request), _content_digest(request)
    uploads.check_size(run, lease.unit, length)
    known = stored_verdict(lease, digest)
    if known:
        return _verdict(known)
    demand_space(length)
    extend_lease(run, lease)
    # A name of its own: a client that lost patience may send the same bytes a second time.
    path = Path(settings.UPLOAD_ROOT) / f"{lease.token}.{secrets.token_hex(8)}.whole.part"
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        write_body(request, path, length, digest)
        _count(run, lease, length)
        return _verdict(receive_result(run, lease, path, digest))
    finally:
        path.unlink(missing_ok=True)


def _content_digest(request: HttpRequest) -> str:
    match = _CONTENT_DIGEST.search(request.headers.get("Content-Digest", ""))
    if not match:
        raise Refused(
            Refusal.BAD_REQUEST,
            "send the file's digest as Content-Digest: sha-256=:BASE64: (RFC 9530)",
        )
    return base64.b64decode(match[1]).hex()


def write_body(body: uploads.Readable, path: Path, length: int, digest: str) -> None:
    """Write ``length`` bytes of ``body`` to ``path``, hashing them on the way.

    Raises:
        Refused: BODY_SHORT, DIGEST_MISMATCH or DISK_FULL.
    """
    found, left = hashlib.sha256(), length
    try:
        with open(path, "wb") as file:
            while left and (piece := body.read(min(PIECE_BYTES, left))):
                found.update(piece)
                file.write(piece)
                left -= len(piece)
    except OSError as error:
        raise uploads.disk_full(error) from None
    if left:
        raise Refused(Refusal.BODY_SHORT, f"{length - left} of {length} bytes came; send it again")
    if found.hexdigest() != digest:
        raise Refused(Refusal.DIGEST_MISMATCH, "the file arrived damaged; send it again")


def _verdict(result: Result) -> HttpResponseBase:
    lease = result.lease
    return json_answer(
        Verdict(
            accepted=True,
            lease_id=lease.token,
            round=lease.unit.round.number,
            sha256=result.sha256,
        )
    )


def _offset_answer(offset: int) -> HttpResponse:
    headers = {UPLOAD_OFFSET_HEADER: str(offset), "Cache-Control": "no-store"}
    return HttpResponse(status=204, headers=headers)


METHODS: dict[str, Callable[[HttpRequest, Run, Lease], HttpResponseBase]] = {
    "GET": _get,
    "HEAD": _head,
    "POST": _post,
    "PUT": _put,
    "PATCH": _patch,
}
