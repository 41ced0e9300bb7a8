"""Creating, pausing, reopening and the management commands that need no torch."""

import io
import json

import numpy as np
import pytest
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command

from coordination.leases.requeue import requeue_unit
from coordination.models import DataShard, Lease, Result, Round, Run, Snapshot, Unit
from coordination.rounds.create import create_run
from coordination.rounds.open import shards_of
from coordination.rounds.pause import pause_run, resume_run
from coordination.rounds.reconcile import reconcile
from coordination.rounds.reopen import MAX_REOPENINGS
from tests.coordination.making import (
    TINY,
    WorkerOf,
    make_run,
    vector,
    write_shard,
    write_weights,
)
from worker_client.contract.formats import load_format

pytestmark = pytest.mark.django_db
FMT = load_format(TINY)


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"recipe": "v9"}, "unknown recipe"),
        ({"lr": 2.0}, "lr"),
        ({"lr": 0.0}, "lr"),
        ({"seq_len": 4}, "seq_len"),
        ({"inner_steps": 10_001}, "inner_steps"),
        ({"inner_steps": 10_000, "batch_size": 1024, "seq_len": 8192}, "2^32"),
        ({"seed": 2**53}, "seed"),
        ({"units_per_round": 3}, "one unit per shard"),
        ({"units_per_round": 1, "target_results": 2}, "one per unit"),
        ({"min_results": 3}, "at most the target"),
        ({"chunk_bytes": 1000}, "chunk_bytes"),
        ({"slug": "Not A Slug"}, "slug"),
    ],
)
def test_settings_out_of_range_name_the_field(db, tmp_path, fields, complaint):
    with pytest.raises(ValidationError) as caught:
        make_run(tmp_path, **fields)
    assert complaint in str(caught.value)
    assert not Run.objects.exists()


def _run(**fields) -> Run:
    values = {"slug": "r", "name": "r", "format": TINY, "rounds": 1, "seq_len": 16, "shards": 1}
    return Run(**values | {"units_per_round": 1, "target_results": 1} | fields)


def test_an_unknown_format_is_told_the_known_ones(tmp_path):
    with pytest.raises(ValidationError, match=f"unknown format.*{TINY}"):
        create_run(_run(format="nosuch"), tmp_path / "unread", [])


def test_a_snapshot_of_another_order_is_refused(tmp_path):
    path = tmp_path / "snapshot"
    values = vector(1, FMT).astype(np.float32)
    path.write_bytes(_in_reverse(values))
    with pytest.raises(ValidationError, match="in their order"):
        create_run(_run(), path, [])


def _in_reverse(values: np.ndarray) -> bytes:
    from worker_client.contract.tensors import build_header

    specs = [(spec.name, "F32", spec.shape) for spec in reversed(FMT.tensors)]
    return build_header(specs) + values.tobytes()


def test_shards_that_workers_would_refuse_are_refused_first(tmp_path):
    snapshot = write_weights(tmp_path / "s", FMT, vector(1, FMT))
    good = write_shard(tmp_path / "good", FMT, 4, 16)
    short = write_shard(tmp_path / "short", FMT, 4, 8)
    (tmp_path / "html").write_text("<html>")
    for shards, complaint in (
        ([good, good], "1 shards but 2 files"),
        ([short], "rows of 8 tokens"),
        ([snapshot], "int32 input_ids"),
        ([tmp_path / "html"], "html"),
    ):
        with pytest.raises(ValidationError, match=complaint):
            create_run(_run(), snapshot, shards)
    with pytest.raises(ValidationError, match="labels"):
        create_run(_run(mode=Run.Mode.SFT), snapshot, [good])
    assert not Run.objects.exists() and not DataShard.objects.exists()


def test_a_run_without_data_tells_workers_to_use_their_own(tmp_path):
    snapshot = write_weights(tmp_path / "s", FMT, vector(1, FMT))
    run = create_run(_run(), snapshot, [])
    task = WorkerOf(run).lease()
    assert task.get("veri") is None and run.serves_data is False


def test_rounds_rotate_over_the_shards(tmp_path):
    run = make_run(tmp_path, shards=5, units_per_round=2)
    assert [shards_of(run, n) for n in (1, 2, 3, 4)] == [[0, 1], [2, 3], [0, 4], [1, 2]]


def test_a_held_run_opens_when_it_is_resumed(tmp_path):
    run = make_run(tmp_path, start=False)
    assert run.state == Run.State.READY
    assert WorkerOf(run).ask().status_code == 204
    assert resume_run(run) and not resume_run(run)
    assert WorkerOf(run).ask().status_code == 200


def test_pausing_stops_the_merge_until_the_run_is_resumed(run, result_file, post_whole):
    workers = [WorkerOf(run, name) for name in ("ada", "bob")]
    tasks = [worker.lease() for worker in workers]
    assert pause_run(run, "maintenance") and not pause_run(run, "again")
    for seed, (worker, task) in enumerate(zip(workers, tasks, strict=True)):
        assert post_whole(worker, task, result_file(seed + 2)).status_code == 200
    reconcile()
    assert Round.objects.get(run=run).state == Round.State.OPEN
    resume_run(run)
    reconcile()
    assert Round.objects.filter(run=run, state=Round.State.PUBLISHED).count() == 1


def _deliver_with_outliers(run: Run, post_whole, tmp_path, outliers: int) -> None:
    """Fill every free unit; the first ``outliers`` results move a hundred times as far."""
    free = Unit.objects.filter(round__run=run, state=Unit.State.FREE).count()
    for i in range(free):
        worker = WorkerOf(run, f"w{i}-{Lease.objects.count()}")
        scale = 0.02 if i < outliers else 0.0002
        moved = vector(1, FMT) + vector(100 + i, FMT, scale)
        body = write_weights(tmp_path / "r", FMT, moved.astype(np.float32)).read_bytes()
        task = worker.lease()
        answer = post_whole(worker, task, body)
        assert answer.status_code == 200, answer.content


def test_an_outlier_is_screened_and_the_rest_is_merged(tmp_path, post_whole):
    run = make_run(tmp_path, shards=6, max_leases_per_address=99)
    _deliver_with_outliers(run, post_whole, tmp_path, outliers=1)
    reconcile()
    first = Round.objects.get(run=run, number=1)
    assert (first.state, first.accepted, first.screened) == (Round.State.PUBLISHED, 5, 1)
    assert Result.objects.filter(state=Result.State.SCREENED).count() == 1


def test_too_few_after_screening_reopens_bars_the_worker_and_at_last_pauses(tmp_path, post_whole):
    run = make_run(tmp_path, shards=6, max_leases_per_address=99, min_results=6)
    for attempt in range(1, MAX_REOPENINGS + 2):
        _deliver_with_outliers(run, post_whole, tmp_path, outliers=1)
        reconcile()
        round_ = Round.objects.get(run=run, number=1)
        assert (round_.state, round_.reopenings) == (Round.State.OPEN, attempt)
        unit = Unit.objects.get(round=round_, state=Unit.State.FREE)
        assert unit.barred.count() == attempt
    run.refresh_from_db()
    assert run.state == Run.State.PAUSED and "too few results" in run.pause_reason
    assert Snapshot.objects.filter(run=run).count() == 1
    resume_run(run)
    barred = WorkerOf(run, unit.barred.order_by("pk").first().name)
    assert barred.ask().status_code == 204
    assert WorkerOf(run, "fresh").ask().status_code == 200


def test_a_unit_taken_back_goes_to_another_worker(run, worker):
    task = worker.lease()
    unit = Unit.objects.get(shard=task["parca"])
    assert requeue_unit(unit) and not requeue_unit(unit)
    assert {WorkerOf(run, name).lease()["parca"] for name in ("bob", "cem")} == {0, 1}


def test_run_status_prints_what_durum_says(run, client):
    out = io.StringIO()
    call_command("run_status", run.slug, "--json", stdout=out)
    assert json.loads(out.getvalue()) == client.get(f"/c/{run.slug}/durum").json()
    text = io.StringIO()
    call_command("run_status", run.slug, stdout=text)
    assert "round 1 of 3" in text.getvalue() and "2 free" in text.getvalue()


def test_commands_about_an_unknown_run_name_the_known_ones(run):
    for command in ("run_status", "pause_run", "resume_run"):
        with pytest.raises(CommandError, match="known: tiny"):
            call_command(command, "nosuch")


def test_pause_and_resume_commands(run, capsys):
    call_command("pause_run", run.slug, "--reason", "lunch")
    run.refresh_from_db()
    assert (run.state, run.pause_reason) == (Run.State.PAUSED, "lunch")
    with pytest.raises(CommandError, match="only an open run pauses"):
        call_command("pause_run", run.slug)
    call_command("resume_run", run.slug)
    run.refresh_from_db()
    assert run.state == Run.State.OPEN
