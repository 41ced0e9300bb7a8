"""Serve one blob: strong ETag, conditional requests, HEAD and single ranges (RFC 9110).

A range of up to 8 MiB is answered from memory; anything longer is streamed in small pieces,
which the server sends as fast as the reader takes them.
"""

import re
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass

from asgiref.sync import sync_to_async
from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    StreamingHttpResponse,
)

from coordination.storage import blobs
from worker_client.contract.errors import Refusal, Refused

LARGEST_BODY_IN_MEMORY = 8 * 2**20
PIECE_BYTES = 256 * 1024
_RANGE = re.compile(r"bytes=(\d{0,15})-(\d{0,15})")


@dataclass(frozen=True)
class Span:
    """Bytes ``start`` to ``stop`` (exclusive) of a file of ``size`` bytes."""

    start: int
    stop: int
    size: int

    @property
    def length(self) -> int:
        return self.stop - self.start


def serve_blob(
    request: HttpRequest, sha256: str, name: str, count: Callable[[int], None]
) -> HttpResponseBase:
    """Answer GET or HEAD for the blob ``sha256``, shown to people as ``name``; ``count`` hears
    how many bytes go out.

    Raises:
        Refused: RANGE_OUTSIDE for a range that misses the file.
    """
    etag = f'"{sha256}"'
    headers = {
        "ETag": etag,
        "Accept-Ranges": "bytes",
        "Cache-Control": "public, max-age=31536000, immutable",
        "Content-Disposition": f'attachment; filename="{name}"',
    }
    if _names(request.headers.get("If-None-Match", ""), etag):
        return HttpResponse(status=304, headers=headers)
    size = blobs().size(sha256)
    span = _requested_span(request, etag, size)
    if span:
        headers["Content-Range"] = f"bytes {span.start}-{span.stop - 1}/{size}"
    served = span or Span(0, size, size)
    headers["Content-Length"] = str(served.length)
    status = 206 if span else 200
    if request.method == "HEAD":
        return HttpResponse(status=status, headers=headers, content_type=BINARY)
    count(served.length)
    return _body(request, sha256, served, status, headers)


BINARY = "application/octet-stream"


def _names(header: str, etag: str) -> bool:
    tags = [tag.strip().removeprefix("W/") for tag in header.split(",")]
    return etag in tags or "*" in tags


def _requested_span(request: HttpRequest, etag: str, size: int) -> Span | None:
    """The single satisfiable range asked for; None means the whole file.

    A malformed header or several ranges are ignored, as RFC 9110 allows.
    """
    condition = request.headers.get("If-Range")
    match = _RANGE.fullmatch(request.headers.get("Range", "").strip())
    if not match or (condition and condition != etag) or not (match[1] or match[2]):
        return None
    if match[1]:
        start, stop = int(match[1]), min(int(match[2]) + 1 if match[2] else size, size)
        if match[2] and int(match[2]) < start:
            return None
    else:
        start, stop = max(0, size - int(match[2])), size
    if start >= stop:
        raise Refused(Refusal.RANGE_OUTSIDE, f"the file has {size} bytes", boyut=size)
    return Span(start, stop, size)


def _body(
    request: HttpRequest, sha256: str, span: Span, status: int, headers: dict[str, str]
) -> HttpResponseBase:
    if span.length <= LARGEST_BODY_IN_MEMORY and status == 206:
        data = blobs().read_range(sha256, span.start, span.stop)
        return HttpResponse(data, status=status, headers=headers, content_type=BINARY)
    under_asgi = hasattr(request, "scope")
    pieces = _pieces_async(sha256, span) if under_asgi else _pieces(sha256, span)
    return StreamingHttpResponse(pieces, status=status, headers=headers, content_type=BINARY)


def _pieces(sha256: str, span: Span) -> Iterator[bytes]:
    for start in range(span.start, span.stop, PIECE_BYTES):
        yield blobs().read_range(sha256, start, min(start + PIECE_BYTES, span.stop))


async def _pieces_async(sha256: str, span: Span) -> AsyncIterator[bytes]:
    read = sync_to_async(blobs().read_range, thread_sensitive=False)
    for start in range(span.start, span.stop, PIECE_BYTES):
        yield await read(sha256, start, min(start + PIECE_BYTES, span.stop))
