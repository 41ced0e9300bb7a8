"""Raw text and its tokenizer: told to, and served to, whoever holds a live lease to prepare it."""

from django.http import HttpRequest, HttpResponseBase

from coordination.clock import now
from coordination.models import Chunk, Lease, Preparation, Run, Worker
from coordination.protocol.files import serve_blob
from coordination.protocol.http import worker_view
from coordination.protocol.refs import file_ref
from coordination.tallies.gather import count_bytes
from worker_client.contract.errors import Refusal, Refused


@worker_view("GET", "HEAD")
def ham_metin(request: HttpRequest, run: Run, caller: Worker | None) -> HttpResponseBase:
    lease = _lease(request, run, caller)
    return _serve(request, run, lease, _chunk(lease).sha256, f"{run.slug}-text.jsonl")


@worker_view("GET", "HEAD")
def belirtec(request: HttpRequest, run: Run, caller: Worker | None) -> HttpResponseBase:
    lease = _lease(request, run, caller)
    sha256 = Preparation.objects.get(run=run).tokenizer_sha256
    return _serve(request, run, lease, sha256, "tokenizer.json")


def _lease(request: HttpRequest, run: Run, caller: Worker | None) -> Lease:
    """The live lease that the request names, whose holder shows its token."""
    leases = Lease.objects.select_related("unit__round", "unit__chunk", "worker")
    lease = leases.filter(
        unit__chunk__run=run,
        token=request.GET.get("gorev", ""),
        worker=caller,
        state=Lease.State.LIVE,
        expires_at__gt=now(),
    ).first()
    if caller is None or lease is None or not lease.worker.is_shown_text:
        raise Refused(Refusal.NOT_FOUND, "no such task of yours here; ask for a new one")
    return lease


def _serve(
    request: HttpRequest, run: Run, lease: Lease, sha256: str, name: str
) -> HttpResponseBase:
    def count(sent: int) -> None:
        count_bytes(run.pk, lease.unit.round.number, lease.worker_id, down=sent)

    response = serve_blob(request, sha256, name, count)
    response.headers["Cache-Control"] = "private, no-store"
    return response


def _chunk(lease: Lease) -> Chunk:
    chunk = lease.unit.chunk
    assert chunk is not None, "the database holds that this job has a chunk"
    return chunk


def text_fields(run: Run, lease: Lease) -> dict:
    """What a lease to prepare a chunk carries beside a run's numbers."""
    chunk, how = _chunk(lease), Preparation.objects.get(run=run)
    tokenizer = how.tokenizer_sha256, how.tokenizer_size
    return {
        "shard": chunk.index,
        "shards": Chunk.objects.filter(run=run).count(),
        "raw_text": file_ref(run, f"/ham_metin?gorev={lease.token}", chunk.sha256, chunk.size),
        "tokenizer": file_ref(run, f"/belirtec?gorev={lease.token}", *tokenizer),
        "cleaning": how.cleaning,
        "languages": how.languages or None,
    }
