"""``/bilgi``, ``/durum``, ``/adaptor`` and ``/veri``: what a coordinator tells and hands out."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponseBase, JsonResponse

from coordination.live.status import status
from coordination.models import DataShard, HeldOut, Run, Snapshot, Worker
from coordination.preparing.counts import has_chunks_left
from coordination.protocol.files import serve_blob
from coordination.protocol.http import protocol_view, whole_number, worker_view
from coordination.tallies.gather import count_bytes
from worker_client.contract import PROTOCOL_VERSION
from worker_client.contract.errors import Refusal, Refused
from worker_client.contract.wire import REFERENCE_MERGE, About, Job, Message, Mode


@protocol_view("GET", "HEAD")
def bilgi(request: HttpRequest, run: Run) -> HttpResponseBase:
    return _cacheable(about(run), seconds=5)


@protocol_view("GET", "HEAD")
def durum(request: HttpRequest, run: Run) -> HttpResponseBase:
    before = whole_number(request, "once") if "once" in request.GET else None
    return _cacheable(status(run, before=before), seconds=1)


@worker_view("GET", "HEAD")
def adaptor(request: HttpRequest, run: Run, caller: Worker | None) -> HttpResponseBase:
    snapshot = _asked_snapshot(request, run)
    name = f"{run.slug}-{snapshot.number}.safetensors"
    return serve_blob(request, snapshot.sha256, name, _counter(run, snapshot.number, caller))


@worker_view("GET", "HEAD")
def fark(request: HttpRequest, run: Run, caller: Worker | None) -> HttpResponseBase:
    """The compressed update that leads to a snapshot."""
    snapshot = _asked_snapshot(request, run)
    if not snapshot.delta_sha256:
        raise Refused(Refusal.NOT_FOUND, f"snapshot {snapshot.number} was published whole only")
    name = f"{run.slug}-{snapshot.number}-update.safetensors"
    return serve_blob(request, snapshot.delta_sha256, name, _counter(run, snapshot.number, caller))


def _asked_snapshot(request: HttpRequest, run: Run) -> Snapshot:
    number = whole_number(request, "tur")
    snapshot = Snapshot.objects.filter(run=run, number=number).first()
    if snapshot is None:
        raise Refused(Refusal.NOT_FOUND, f"there is no snapshot {number}")
    if snapshot.deleted_at:
        raise Refused(Refusal.DELETED, f"snapshot {number} is older than this run keeps")
    return snapshot


@worker_view("GET", "HEAD")
def veri(request: HttpRequest, run: Run, caller: Worker | None) -> HttpResponseBase:
    index = whole_number(request, "parca")
    shard = DataShard.objects.filter(run=run, index=index).first()
    if shard is None:
        raise Refused(Refusal.NOT_FOUND, f"this run serves no data shard {index}")
    current = run.current_round
    counter = _counter(run, current.number if current else 1, caller)
    return serve_blob(request, shard.sha256, f"{run.slug}-shard-{index}.safetensors", counter)


def _counter(run: Run, round_: int, caller: Worker | None) -> Callable[[int], None]:
    """Counts bytes sent; without a token nobody knows to whom."""
    return lambda sent: count_bytes(run.pk, round_, caller.pk if caller else None, down=sent)


@protocol_view("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
def unknown(request: HttpRequest, run: Run, rest: str) -> HttpResponseBase:
    """Anything else below a run's address, an optional endpoint we lack included."""
    raise Refused(Refusal.NOT_FOUND, "this coordinator has no such endpoint")


def about(run: Run) -> About:
    current = run.current_round
    return About(
        protocol=PROTOCOL_VERSION,
        name=run.name,
        description=run.description,
        base_model=run.manifest.base_ref,
        format=run.format,
        tokenizer_sha256=run.tokenizer,
        recipe=run.recipe,
        mode=Mode(run.mode),
        round=current.number if current else 1,
        rounds=run.rounds,
        inner_steps=run.inner_steps,
        seq_len=run.seq_len,
        shards=run.shards,
        serves_data=run.serves_data,
        encodings=run.encodings,
        open_to_all=run.open_to_all,
        jobs=jobs_of(run),
        data_licence=run.data_licence,
        data_source=run.data_source,
        contact=run.contact,
        min_worker_version=run.min_worker_version,
        merge_rule=REFERENCE_MERGE if merges_by_reference(run) else "",
    )


def merges_by_reference(run: Run) -> bool:
    """Whether anybody with a round's results can recompute its snapshot from the protocol alone."""
    plain = run.rule == Run.Rule.MEAN and run.outer == Run.OuterOptimiser.NESTEROV
    bent = run.clip_norms or run.exact_lora or run.trust_weights or run.downlink
    return plain and not bent and (run.outer_lr, run.outer_momentum) == (1.0, 0.5)


def jobs_of(run: Run) -> list[str]:
    """The jobs that a run gives away: results are repeated only where all train on one data, and
    measured where there is data that nobody trains on, and text is prepared while any is left."""
    jobs = {
        Job.TRAIN: True,
        Job.VERIFY: run.verify and run.serves_data,
        Job.EVALUATE: HeldOut.objects.filter(run=run).exists(),
        Job.PREPROCESS: has_chunks_left(run),
    }
    return [job.value for job, given in jobs.items() if given]


def _cacheable(message: Message, seconds: int) -> JsonResponse:
    response = JsonResponse(message.to_wire())
    response.headers["Cache-Control"] = f"public, max-age={seconds}"
    return response
