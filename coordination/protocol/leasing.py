"""``/gorev`` and ``/gorev/{id}/nabiz``: hand out work and hear how it goes."""

from django.http import HttpRequest, HttpResponseBase

from coordination.clock import now
from coordination.leases.extend import extend_lease
from coordination.leases.find import find_lease
from coordination.leases.grant import Grant, grant_lease
from coordination.live.counts import active_workers
from coordination.models import DataShard, Round, Run, Snapshot, Unit, Worker
from coordination.preparing.counts import is_preparing
from coordination.protocol.evaluating import candidates_of, held_out_ref
from coordination.protocol.http import json_answer, nothing, read_message, worker_view
from coordination.protocol.preparing import text_fields
from coordination.protocol.refs import shard_ref, snapshot_ref
from coordination.protocol.source import client_address
from coordination.results.fate import JOBS
from worker_client.contract.wire import (
    DeltaRef,
    Job,
    LeaseRequest,
    Mode,
    Progress,
    ProgressAnswer,
    Task,
    TrainingFields,
)

MERGING_RETRY_S = 1
PAUSED_RETRY_S = 30
LONGEST_RETRY_S = 60
POLLS_PER_SECOND = 10


@worker_view("POST")
def gorev(request: HttpRequest, run: Run, caller: Worker | None) -> HttpResponseBase:
    asked = read_message(request, LeaseRequest)
    grant = grant_lease(run, asked, client_address(request), caller)
    return json_answer(task_of(run, grant, asked.holds)) if grant else nothing(_wait_seconds(run))


@worker_view("POST")
def nabiz(request: HttpRequest, run: Run, caller: Worker | None, token: str) -> HttpResponseBase:
    progress = read_message(request, Progress)
    lease = find_lease(run, token, progress.lease_key, caller)
    end = extend_lease(run, lease, progress)
    if end is None:
        return json_answer(ProgressAnswer(go_on=False))
    seconds = max(0, int((end - now()).total_seconds()))
    return json_answer(ProgressAnswer(go_on=True, lease_seconds=seconds, deadline=end))


def _wait_seconds(run: Run) -> int:
    """How long a worker should wait: a moment while a merge runs or the run ends, else so long
    that all the run's workers together ask ``POLLS_PER_SECOND`` times a second."""
    if run.state != Run.State.OPEN and not (run.state == Run.State.READY and is_preparing(run)):
        return PAUSED_RETRY_S
    current = run.current_round
    if current is None or current.state != Round.State.OPEN:
        return MERGING_RETRY_S
    return min(LONGEST_RETRY_S, max(1, active_workers(run) // POLLS_PER_SECOND))


def task_of(run: Run, grant: Grant, holds: int | None = None) -> Task:
    """The lease as it is told to a worker that holds snapshot ``holds``."""
    lease, unit = grant.lease, grant.lease.unit
    job, fields = JOBS[Unit.Job(unit.job)], training_fields(run, unit, lease.encoding)
    evaluates, more = job == Job.EVALUATE, {}
    if job == Job.PREPROCESS:
        more = text_fields(run, lease)
    if evaluates:
        fields = fields.model_copy(update={"data": held_out_ref(run, lease)})
    return Task(
        lease_id=lease.token,
        lease_key=grant.key,
        job=job,
        lease_seconds=max(5, int((lease.expires_at - now()).total_seconds())),
        deadline=lease.expires_at,
        target=fields if job == Job.VERIFY else None,
        candidates=candidates_of(run, lease) if evaluates else None,
        delta=_update(run, fields.round, holds) if job in (Job.TRAIN, Job.VERIFY) else None,
        **dict(fields) | more,
    )


def training_fields(run: Run, unit: Unit, encoding: str) -> TrainingFields:
    """What training the unit's shard in its round consists of; of text that is to be prepared only
    the numbers are."""
    round_, trains = unit.round, unit.job != Unit.Job.PREPROCESS
    snapshot = unit.snapshot or Snapshot.objects.get(run=run, number=round_.number)
    shard = DataShard.objects.filter(run=run, index=unit.shard).first()
    return TrainingFields(
        round=round_.number,
        rounds=run.rounds,
        inner_steps=run.inner_steps,
        batch_size=run.batch_size,
        seq_len=run.seq_len,
        lr=run.lr,
        seed=run.seed,
        shard=unit.shard,
        shards=max(run.shards, unit.shard + 1),
        mode=Mode(run.mode),
        format=run.format,
        recipe=run.recipe,
        base_model=run.manifest.base_ref,
        tokenizer_sha256=run.tokenizer,
        encoding=encoding,
        snapshot_file=snapshot_ref(run, snapshot) if trains else None,
        data=shard_ref(run, shard) if shard and trains else None,
    )


def _update(run: Run, number: int, holds: int | None) -> DeltaRef | None:
    """The compressed update from the snapshot held to snapshot ``number``, if there is one."""
    if holds != number - 1:
        return None
    snapshot = Snapshot.objects.get(run=run, number=number)
    if not snapshot.delta_sha256:
        return None
    return DeltaRef(
        round=holds,
        path=f"/fark?tur={number}",
        sha256=snapshot.delta_sha256,
        size=snapshot.delta_size,
        chunk_bytes=run.chunk_bytes,
        encoding=run.downlink,
    )
