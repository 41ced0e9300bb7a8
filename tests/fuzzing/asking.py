"""What requests to a coordinator are spoilt with, and what its answers are held to."""

import base64
import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import transaction

from coordination.storage import blobs
from tests.coordination.making import WorkerOf
from tests.fuzzing.running import Wrong
from worker_client.contract.errors import Refusal

REFUSALS = {refusal.code: refusal for refusal in Refusal}
# Not a mistake of the coordinator's: being checked, a full disk, a limit of work at once.
MAY_BE_5XX = {Refusal.CHECKING.code, Refusal.DISK_FULL.code, Refusal.BUSY.code}
BINARY = "application/octet-stream"
LONG_S = 30 * 86_400  # the longest that a lease or a round may last
TEXTS = (
    "",
    "0",
    "1",
    "-1",
    "99999999999999999999",
    "1.5",
    "٣",
    "\x00",
    "é",
    "a" * 3000,
    "%00",
    "..",
)
RANGES = (
    "bytes=0-0",
    "bytes=0-99",
    "bytes=-5",
    "bytes=5-",
    "bytes=9-3",
    "bytes=0-1,3-4",
    "bytes=999999-",
    "bytes=0-999999999999999",
    "bytes=--1",
    "bytes=-",
    "bites=0-1",
    "bytes=-0",
)
HEADERS = (
    "X-Modelen-Protokol",
    "X-Modelen-Anahtar",
    "Upload-Offset",
    "Content-Digest",
    "Authorization",
    "If-None-Match",
    "If-Range",
    "Range",
    "X-Forwarded-For",
    "Accept-Language",
)


@contextmanager
def undone() -> Iterator[None]:
    """What happens in the block has not happened after it."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def deliver(asker: WorkerOf, task: dict[str, Any], body: bytes) -> Any:
    """``body`` in one piece, with its right digest."""
    digest = base64.b64encode(hashlib.sha256(body).digest()).decode()
    headers = {"Content-Digest": f"sha-256=:{digest}:"}
    answer = asker.sonuc(task, "post", data=body, content_type=BINARY, headers=headers)
    judge_answer("POST", answer)
    return answer


def judge_answer(method: str, answer: Any) -> None:
    """Raises Wrong unless ``answer`` is worded as the protocol wants it."""
    status = answer.status_code
    if "X-Modelen-Protokol" not in answer.headers:
        raise Wrong(f"{status} without X-Modelen-Protokol: {answer.content[:200]!r}")
    if status < 400:
        return
    if method == "HEAD":
        raise_if(status >= 500, f"HEAD: {status}")
        return
    problem = json.loads(answer.content)
    refusal = REFUSALS.get(problem.get("kod"))
    raise_if(refusal is None, f"an unknown code: {problem}")
    raise_if(status >= 500 and problem["kod"] not in MAY_BE_5XX, f"{status}: {problem}")
    right = refusal and (refusal.status, refusal.retry) == (status, problem.get("tekrar"))
    raise_if(not right or not problem["detail"], f"not as the protocol has it: {status} {problem}")
    raise_if("problem+json" not in answer.headers["Content-Type"], "not application/problem+json")


def judge_part(answer: Any) -> None:
    """Raises Wrong unless what came is the part of its file that its headers say."""
    body = b"".join(answer.streaming_content) if answer.streaming else answer.content
    whole = blobs().open(answer.headers["ETag"].strip('"')).read()
    first = 0
    if answer.status_code == 206:
        first = int(answer.headers["Content-Range"].split()[1].split("-")[0])
    if body != whole[first : first + int(answer.headers["Content-Length"])]:
        raise Wrong("a range has other bytes than the file")


def raise_if(wrong: bool, what: str) -> None:
    if wrong:
        raise Wrong(what)


def header_text(text: str) -> str:
    """What of ``text`` HTTP lets into a header."""
    return text.encode().decode("latin-1").replace("\r", "").replace("\n", "")
