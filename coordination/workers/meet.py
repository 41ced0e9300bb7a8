"""Note that a worker asks for work, and notice when two computers ask as one.

A worker numbers its lease requests, upwards. Two computers with copies of one state folder draw
the same numbers for different requests, or the one that asked less falls behind.
"""

from django.db import transaction
from django.db.models import F

from coordination.clock import now
from coordination.leases.keys import digest
from coordination.models import Lease, Run, Worker
from coordination.workers.find import owner_of
from coordination.workers.welcome import demand_welcome
from worker_client.contract.errors import Refusal, Refused
from worker_client.contract.wire import LeaseRequest


def meet_worker(run: Run, request: LeaseRequest, caller: Worker | None) -> Worker:
    """The worker behind a lease request: ``caller``, or whoever works without a token as
    ``request.worker``.

    Raises:
        Refused: TOKEN_MISMATCH, TOKEN_REQUIRED, STATE_COPIED (which is recorded), or as
            ``demand_welcome``.
    """
    if caller and caller.name != request.worker:
        raise Refused(
            Refusal.TOKEN_MISMATCH, f"this token belongs to {caller.name}, not {request.worker}"
        )
    worker = caller or _unregistered(run, request)
    if not _note(worker, request):
        raise Refused(
            Refusal.STATE_COPIED,
            f"another computer works as {worker.name} with a copy of this state folder",
        )
    return worker


def _unregistered(run: Run, request: LeaseRequest) -> Worker:
    if owner_of(run, request.worker) or run.max_unregistered_per_address == 0:
        raise Refused(
            Refusal.TOKEN_REQUIRED,
            f"{request.worker} can only be used with its token; register at /kayit, or choose "
            "another name",
        )
    worker, _ = Worker.objects.get_or_create(run=run, name=request.worker, token_digest="")
    demand_welcome(run, worker)
    return worker


@transaction.atomic
def _note(worker: Worker, request: LeaseRequest) -> bool:
    """Whether the request is in sequence; remembers it if so, and the copy if not."""
    row = Worker.objects.select_for_update().get(pk=worker.pk)
    mine, asked = Worker.objects.filter(pk=worker.pk), digest(request.request_id)
    mine.update(last_seen_at=now(), device=request.device)
    if request.sequence is None or not row.is_registered or _is_repeat(row, request, asked):
        return True
    if row.sequence is not None and request.sequence <= row.sequence:
        mine.update(copies_seen=F("copies_seen") + 1, copy_seen_at=now())
        return False
    mine.update(sequence=request.sequence, sequence_request=asked)
    return True


def _is_repeat(row: Worker, request: LeaseRequest, asked: str) -> bool:
    """Whether this very request was heard before, be it answered with a lease or without."""
    if (row.sequence, row.sequence_request) == (request.sequence, asked):
        return True
    return Lease.objects.filter(worker=row, request_digest=asked).exists()
