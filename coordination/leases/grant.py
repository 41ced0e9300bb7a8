"""Lease a free unit to a worker, or give the same answer to the same request again."""

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction

from coordination.clock import now
from coordination.leases.keys import digest, lease_key
from coordination.leases.pick import (
    Pick,
    free_evaluations,
    pick_chunk,
    pick_evaluation,
    pick_work,
)
from coordination.leases.quota import check_quota
from coordination.models import Lease, Round, Run, Unit, Worker, touch
from coordination.preparing.counts import is_preparing
from coordination.workers.meet import meet_worker
from coordination.workers.welcome import WAIT_FOR_A_PERSON_S, demand_welcome
from worker_client.contract.errors import Refusal, Refused
from worker_client.contract.wire import Job, LeaseRequest

ALONE_FACTOR = 4  # how far the lease limits rise while nobody else works on the run


@dataclass(frozen=True)
class Grant:
    lease: Lease
    key: str


def grant_lease(
    run: Run, request: LeaseRequest, address: str, caller: Worker | None = None
) -> Grant | None:
    """A lease for ``request``, or None when there is nothing to do now.

    Repeating a request while its lease lives gives the same lease and key. ``caller`` is the
    worker whose token came with the request, if one did.

    Raises:
        Refused: FINISHED, REQUEST_USED, WORKER_BUSY, NO_COMMON_ENCODING, or as ``meet_worker``.
    """
    if run.state == Run.State.FINISHED and not _may_evaluate(run, request):
        raise _over()
    if offers_text_only(request) and not is_preparing(run):
        raise Refused(Refusal.FINISHED, "there is no text to prepare in this run (any more)")
    worker = meet_worker(run, request, caller)
    return _grant(run, request, address, worker.pk)


@transaction.atomic
def _grant(run: Run, request: LeaseRequest, address: str, worker_id: int) -> Grant | None:
    worker = Worker.objects.select_for_update().get(pk=worker_id)
    demand_welcome(run, worker)  # it may have been paused since it came
    known = Lease.objects.filter(worker=worker, request_digest=digest(request.request_id)).first()
    if known:
        return _repeat(known, request)
    encoding = _choose_encoding(run, request)
    _note_offer(worker, request, address)
    picked = _pick(run, worker, request, address)
    if picked is None and run.state == Run.State.FINISHED:
        raise _over()
    if picked is None:
        return None
    _check_limits(run, worker, address)
    check_quota(worker)
    return _lease(run, picked, worker, request, address, encoding)


def _may_evaluate(run: Run, request: LeaseRequest) -> bool:
    return Job.EVALUATE in request.jobs and free_evaluations(run).exists()


def _over() -> Refused:
    return Refused(Refusal.FINISHED, "the run is over; thank you")


def _pick(run: Run, worker: Worker, request: LeaseRequest, address: str) -> Pick | None:
    """Work for the round that is open; without any, a snapshot to evaluate, but for somebody who
    could train the next round not while that is about to open.
    """
    if run.state == Run.State.READY:
        return _pick_text(run, worker, request)
    if run.state == Run.State.PAUSED:
        return None
    current = _lock_open_round(run) if run.state == Run.State.OPEN else None
    if current and (picked := pick_work(run, current, worker, request, address)):
        return picked
    is_merging = run.state == Run.State.OPEN and current is None
    if Job.EVALUATE in request.jobs and not (is_merging and Job.TRAIN in request.jobs):
        unit = pick_evaluation(run, worker)
        return Pick(unit) if unit else None
    return None


def _pick_text(run: Run, worker: Worker, request: LeaseRequest) -> Pick | None:
    """A chunk of a run that has not begun, for somebody who may see it. Others hear why they get
    none only if they want nothing else."""
    if Job.PREPROCESS not in request.jobs or not is_preparing(run):
        return None
    if not worker.is_shown_text:
        if offers_text_only(request):
            raise _not_shown(worker)
        return None
    _lock_open_round(run)
    unit = pick_chunk(run, worker)
    return Pick(unit) if unit else None


def offers_text_only(request: LeaseRequest) -> bool:
    return set(request.jobs) == {Job.PREPROCESS}


def _not_shown(worker: Worker) -> Refused:
    if not worker.is_registered:
        return Refused(
            Refusal.TOKEN_REQUIRED, "raw text goes to registered workers only: register at /kayit"
        )
    return Refused(
        Refusal.AWAITING_APPROVAL,
        f"an admin of this run has still to let {worker.name} see its text; this may take days",
        retry_after=WAIT_FOR_A_PERSON_S,
    )


def _note_offer(worker: Worker, request: LeaseRequest, address: str) -> None:
    """Remember who could check whose results."""
    worker.verifies, worker.evaluates = (job in request.jobs for job in (Job.VERIFY, Job.EVALUATE))
    worker.address = address
    worker.save(update_fields=["verifies", "evaluates", "address"])


def _repeat(lease: Lease, request: LeaseRequest) -> Grant:
    if lease.state != Lease.State.LIVE or lease.expires_at <= now():
        raise Refused(
            Refusal.REQUEST_USED,
            "the lease of this istek has ended; draw a new istek and ask again",
        )
    return Grant(lease, lease_key(lease.token, request.request_id))


def _choose_encoding(run: Run, request: LeaseRequest) -> str:
    """The run's own encoding where the worker offers it, else the raw one."""
    for encoding in run.encodings:
        if encoding in request.encodings:
            return encoding
    raise Refused(
        Refusal.NO_COMMON_ENCODING,
        f"this run takes results in kodlama {' or '.join(map(repr, run.encodings))} only",
    )


def _lock_open_round(run: Run) -> Round | None:
    """The open round, its row locked: grants, deliveries and closing take turns on it."""
    rounds = Round.objects.select_for_update().filter(run=run, state=Round.State.OPEN)
    return rounds.first()


def _check_limits(run: Run, worker: Worker, address: str) -> None:
    live = Lease.objects.filter(unit__round__run=run, state=Lease.State.LIVE)
    of_worker, of_address = live.filter(worker=worker), live.filter(address=address)
    alone = not live.exclude(worker=worker).exists()
    limits = [
        (of_worker, run.max_leases_per_worker),
        (of_address, run.max_leases_per_address),
    ]
    if not worker.is_registered:
        strangers = of_address.filter(worker__token_digest="")
        limits.append((strangers, run.max_unregistered_per_address))
    factor = ALONE_FACTOR if alone else 1
    if any(held.count() >= most * factor for held, most in limits):
        raise Refused(
            Refusal.WORKER_BUSY,
            "you hold as many tasks as one worker may; finish one or let it expire",
            retry_after=max(1, min(60, run.lease_seconds // 4)),
        )


def _lease(
    run: Run, picked: Pick, worker: Worker, request: LeaseRequest, address: str, encoding: str
) -> Grant:
    token = secrets.token_urlsafe(18)
    key = lease_key(token, request.request_id)
    granted, target = now(), picked.unit.target
    if target and picked.unit.job == Unit.Job.VERIFY:
        encoding = target.lease.encoding
    lease = Lease.objects.create(
        token=token,
        unit=picked.unit,
        is_backup=picked.is_backup,
        worker=worker,
        request_digest=digest(request.request_id),
        key_digest=digest(key),
        address=address,
        encoding=encoding,
        granted_at=granted,
        expires_at=granted + timedelta(seconds=run.lease_seconds),
    )
    Unit.objects.filter(pk=picked.unit.pk).update(state=Unit.State.LEASED)
    touch(run.pk)
    return Grant(lease, key)


def latest_end(run: Run, lease: Lease) -> datetime:
    """The instant beyond which no progress report extends a lease."""
    return lease.granted_at + timedelta(seconds=max(run.lease_seconds, run.lease_max_seconds))
