"""``/kayit`` and ``/makbuz``: own a pseudonym, and see what became of its work."""

from django.http import HttpRequest, HttpResponseBase

from coordination.models import Run, Worker
from coordination.protocol.http import (
    bearer_token,
    json_answer,
    protocol_view,
    read_message,
    whole_number,
)
from coordination.protocol.source import client_address
from coordination.results.receipts import receipts_of
from coordination.workers.find import worker_of_token
from coordination.workers.register import register_worker
from worker_client.contract.errors import Refusal, Refused
from worker_client.contract.wire import Registration, RegistrationAnswer, Standing


@protocol_view("POST")
def kayit(request: HttpRequest, run: Run) -> HttpResponseBase:
    asked = read_message(request, Registration)
    worker = register_worker(run, asked, client_address(request))
    waits = worker.state == Worker.State.PENDING and not run.open_to_all
    standing = Standing.PENDING if waits else Standing.APPROVED
    return json_answer(RegistrationAnswer(standing=standing), status=201)


@protocol_view("GET")
def makbuz(request: HttpRequest, run: Run) -> HttpResponseBase:
    """Also for a worker that is paused or blocked: its receipts stay its own."""
    token = bearer_token(request)
    worker = worker_of_token(run, token) if token else None
    if worker is None:
        raise Refused(
            Refusal.TOKEN_REQUIRED, "receipts are shown to whoever has the pseudonym's token"
        )
    before = whole_number(request, "once") if "once" in request.GET else None
    return json_answer(receipts_of(worker, before))
