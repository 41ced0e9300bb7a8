"""Who may take part in a run."""

from coordination.models import Run, Worker
from coordination.workers.find import worker_of_token
from worker_client.contract.errors import Refusal, Refused

WAIT_FOR_A_PERSON_S = 30


def admit(run: Run, token: str | None) -> Worker | None:
    """The worker that ``token`` belongs to; None for somebody without one, in an open run.

    Raises:
        Refused: TOKEN_REQUIRED, TOKEN_MISMATCH, AWAITING_APPROVAL, WORKER_PAUSED, WORKER_BLOCKED.
    """
    worker = worker_of_token(run, token) if token else None
    if worker:
        demand_welcome(run, worker)
    elif not run.open_to_all:
        raise Refused(
            Refusal.TOKEN_REQUIRED,
            "this run is for approved workers: register a pseudonym at /kayit and show its token",
        )
    elif token:
        raise Refused(Refusal.TOKEN_MISMATCH, "nobody has registered with this token here")
    return worker


def demand_welcome(run: Run, worker: Worker) -> None:
    """Raises Refused while the worker waits for approval, is paused or is blocked."""
    if worker.state == Worker.State.PENDING and not run.open_to_all:
        raise Refused(
            Refusal.AWAITING_APPROVAL,
            f"an admin of this run has still to approve {worker.name}; this may take days",
            retry_after=WAIT_FOR_A_PERSON_S,
        )
    if worker.state == Worker.State.PAUSED:
        raise Refused(
            Refusal.WORKER_PAUSED,
            f"{worker.name} is paused in this run: {worker.state_reason}",
            retry_after=WAIT_FOR_A_PERSON_S,
        )
    if worker.state == Worker.State.BLOCKED:
        raise Refused(
            Refusal.WORKER_BLOCKED,
            f"{worker.name} takes no part in this run any more: {worker.state_reason}",
        )
