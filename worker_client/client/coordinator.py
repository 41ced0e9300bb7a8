"""The protocol's small calls, one attempt each, in and out as contract messages."""

from pydantic import BaseModel

from worker_client.client.faults import Final
from worker_client.client.link import Link, retry_after
from worker_client.contract import LEASE_KEY_HEADER, wire
from worker_client.contract.errors import Refusal

DEFAULT_POLL_S = 10.0


class RunOver(Exception):
    """410 ``bitti``: the run is over, there will be no more work."""


class RequestUsed(Exception):
    """The lease of this request id has ended; draw a new one."""


class NoWork(BaseModel):
    """204: nothing to do for at least ``wait_s`` seconds."""

    wait_s: float


def about(link: Link) -> wire.About | None:
    """What the coordinator is, or None where it does not say."""
    try:
        return link.call("GET", "/bilgi").parse(wire.About)
    except Final as fault:
        if fault.status == 404:
            return None
        raise


def register(link: Link, registration: wire.Registration) -> wire.Standing | None:
    """Own a name; None where a coordinator keeps no names.

    Raises:
        Passing, Final: as ``Link.call``.
    """
    try:
        answer = link.send("POST", "/kayit", registration)
    except Final as fault:
        if fault.status == 404:
            return None
        raise
    return answer.parse(wire.RegistrationAnswer).standing


def receipts(link: Link, before: int | None = None) -> wire.Receipts:
    """A page of the receipts of whoever the link's token belongs to."""
    query = "" if before is None else f"?once={before}"
    return link.call("GET", f"/makbuz{query}").parse(wire.Receipts)


def ask(link: Link, request: wire.LeaseRequest) -> wire.Task | NoWork:
    """A lease, or how long to wait for one.

    Raises:
        RunOver, RequestUsed: see there.
        Passing, Final: as ``Link.call``.
        ProtocolBroken: a task outside the protocol's ranges.
    """
    try:
        answer = link.send("POST", "/gorev", request)
    except Final as fault:
        if fault.status == 410:
            raise RunOver from None
        if fault.code == Refusal.REQUEST_USED.code:
            raise RequestUsed from None
        raise
    if answer.status == 204:
        return NoWork(wait_s=retry_after(answer) or DEFAULT_POLL_S)
    return answer.parse(wire.Task)


def tell_progress(link: Link, lease_id: str, progress: wire.Progress) -> wire.ProgressAnswer:
    path = f"/gorev/{lease_id}/nabiz"
    return link.send("POST", path, progress).parse(wire.ProgressAnswer)


def ask_fate(link: Link, lease_id: str, lease_key: str) -> wire.Fate:
    """What became of a delivered result."""
    headers = {LEASE_KEY_HEADER: lease_key}
    return link.call("GET", f"/sonuc?gorev={lease_id}", headers=headers).parse(wire.Fate)
