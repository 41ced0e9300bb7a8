"""What is evaluated and on what: told to, and served to, whoever holds a lease to do it."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponseBase

from coordination.models import DataShard, HeldOut, Lease, Result, Run, Snapshot, Unit, Worker
from coordination.protocol.files import serve_blob
from coordination.protocol.http import worker_view
from coordination.protocol.refs import file_ref, shard_ref, snapshot_ref
from coordination.storage import blobs
from coordination.tallies.gather import count_bytes
from coordination.verification.measure import shards_to_measure
from worker_client.contract.errors import Refusal, Refused
from worker_client.contract.wire import VECTOR_ENCODING, Candidate, FileRef


@worker_view("GET", "HEAD")
def ayrik(request: HttpRequest, run: Run, caller: Worker | None) -> HttpResponseBase:
    """The held-out shard of a lease."""
    lease = _lease(request, run, caller)
    name = f"{run.slug}-held-out.safetensors"
    return serve_blob(request, _held_out(lease).sha256, name, _counter(run, lease))


@worker_view("GET", "HEAD")
def aday(request: HttpRequest, run: Run, caller: Worker | None) -> HttpResponseBase:
    """The result that a lease is about, as this server keeps it."""
    lease = _lease(request, run, caller)
    target = lease.unit.target
    if target is None or not target.vector_sha256:
        raise Refused(Refusal.NOT_FOUND, "this task is about no result that is still there")
    name = f"{run.slug}-candidate.f32"
    return serve_blob(request, target.vector_sha256, name, _counter(run, lease))


def _counter(run: Run, lease: Lease) -> Callable[[int], None]:
    return lambda sent: count_bytes(run.pk, lease.unit.round.number, lease.worker_id, down=sent)


def _lease(request: HttpRequest, run: Run, caller: Worker | None) -> Lease:
    """The lease to evaluate that the request names; to others neither file is of any use."""
    leases = Lease.objects.select_related("unit__round", "unit__target", "unit__held_out", "worker")
    token = request.GET.get("gorev", "")
    lease = leases.filter(unit__round__run=run, token=token, unit__job=Unit.Job.EVALUATE).first()
    if lease is None or (caller and lease.worker.is_registered and caller != lease.worker):
        raise Refused(Refusal.NOT_FOUND, "no such task of yours here; ask for a new one")
    return lease


def _held_out(lease: Lease) -> HeldOut:
    held_out = lease.unit.held_out
    assert held_out is not None, "every evaluation has held-out data"
    return held_out


def held_out_ref(run: Run, lease: Lease) -> FileRef:
    """Where the holder of ``lease`` finds the data that it is about."""
    held_out = _held_out(lease)
    return file_ref(run, f"/ayrik?gorev={lease.token}", held_out.sha256, held_out.size)


def candidates_of(run: Run, lease: Lease) -> list[Candidate]:
    """A snapshot by itself; or the one that a result began at and the result, in turn, on the
    held-out data and then on what training each of ``shards_to_measure`` takes."""
    unit = lease.unit
    if unit.snapshot:
        return [Candidate(snapshot=snapshot_ref(run, unit.snapshot))]
    assert unit.target is not None, "the database holds that an evaluation has an object"
    start = Snapshot.objects.get(run=run, number=unit.round.number)
    before = Candidate(snapshot=snapshot_ref(run, start))
    after = before.model_copy(update=_result(run, lease, unit.target))
    pairs = [before, after]
    for index in shards_to_measure(run, unit):
        shard = DataShard.objects.get(run=run, index=index)
        on_shard = {"data": shard_ref(run, shard), "shard": index}
        pairs += [one.model_copy(update=on_shard) for one in (before, after)]
    return pairs


def _result(run: Run, lease: Lease, target: Result) -> dict:
    sha256 = target.vector_sha256
    ref = file_ref(run, f"/aday?gorev={lease.token}", sha256, blobs().size(sha256))
    return {"result": ref, "encoding": VECTOR_ENCODING}
