"""Register a pseudonym: from then on it belongs to whoever shows its token."""

from django.db import IntegrityError, transaction

from coordination.clock import now
from coordination.leases.keys import digest, matches
from coordination.models import Run, Worker, WorkerEvent
from coordination.workers.find import owner_of, worker_of_token
from coordination.workers.registrations import count_registration
from coordination.workers.welcome import demand_welcome
from worker_client.contract.errors import Refusal, Refused
from worker_client.contract.wire import Registration


def register_worker(run: Run, asked: Registration, address: str) -> Worker:
    """The worker that owns the name: a new one, or the old one for the same name and token.

    Raises:
        Refused: NAME_TAKEN, TOKEN_MISMATCH (the token belongs to another name), TOO_MANY_NAMES
            or WORKER_BLOCKED.
    """
    worker = _known(run, asked) or _register(run, asked, address)
    if worker.state == Worker.State.BLOCKED:
        demand_welcome(run, worker)
    if asked.listed is not None and asked.listed != worker.is_listed:
        worker.is_listed = asked.listed
        worker.save(update_fields=["is_listed"])
    return worker


def _known(run: Run, asked: Registration) -> Worker | None:
    # The token first: its twin may be registering at this very moment.
    mine = worker_of_token(run, asked.token)
    if mine and mine.name != asked.worker:
        raise Refused(
            Refusal.TOKEN_MISMATCH, "this token belongs to another name; draw one for each name"
        )
    owner = mine or owner_of(run, asked.worker)
    if owner and not matches(asked.token, owner.token_digest):
        raise Refused(
            Refusal.NAME_TAKEN, f"{asked.worker} belongs to somebody else here; choose another name"
        )
    return owner


def _register(run: Run, asked: Registration, address: str) -> Worker:
    count_registration(run, address)
    try:
        return _create(run, asked)
    except IntegrityError:  # somebody registered in the same instant
        worker = _known(run, asked)
        if worker is None:
            raise
        return worker


@transaction.atomic
def _create(run: Run, asked: Registration) -> Worker:
    at, state = now(), Worker.State.APPROVED if run.open_to_all else Worker.State.PENDING
    worker = Worker.objects.create(
        run=run,
        name=asked.worker,
        token_digest=digest(asked.token),
        state=state,
        registered_at=at,
    )
    WorkerEvent.objects.create(worker=worker, verb=WorkerEvent.Verb.REGISTERED, at=at)
    return worker
