"""The shards follow from the text alone: whoever prepared it, in whatever order, killed or not."""

from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from django.core.exceptions import ValidationError

from coordination.models import Chunk, DataShard, Preparation, Round, Run, Unit
from coordination.preparing import mix
from coordination.preparing.advance import advance
from coordination.preparing.alone import alone, workplace
from coordination.preparing.nudge import nudge_if_due
from coordination.rounds.pause import pause_run, resume_run
from coordination.rounds.reconcile import reconcile
from coordination.storage import blobs
from tests.coordination.preparing.conftest import SEQ, Preparer, judge_all, make_raw_run, rows_file

pytestmark = pytest.mark.django_db


class Killed(BaseException):
    """The process is gone: nothing catches it."""


def _shards(run: Run) -> list[str]:
    return list(DataShard.objects.filter(run=run).values_list("sha256", flat=True))


def _ready(run: Run, someone: Preparer) -> None:
    for _ in range(Chunk.objects.filter(run=run).count()):
        someone.work()
    judge_all(run)


@pytest.fixture
def wanted(tmp_path: Path, preparer) -> list[str]:
    """Digests of the shards of a run like ``run`` that one volunteer prepared."""
    other = make_raw_run(tmp_path, slug="other")
    _ready(other, preparer(other, "ada"))
    assert advance(other.pk) is True
    return _shards(other)


def test_the_last_chunk_begins_the_run(run, ada):
    _ready(run, ada)
    chunks = list(Chunk.objects.values_list("sha256", flat=True))
    assert advance(run.pk) is True
    run.refresh_from_db()
    assert run.state == Run.State.OPEN and run.serves_data
    shards = DataShard.objects.order_by("index")
    assert len(shards) == 2 and len({shard.rows for shard in shards}) == 1
    trained = Unit.objects.filter(job=Unit.Job.TRAIN)
    assert sorted(trained.values_list("shard", flat=True)) == [0, 1]
    assert ada.lease()["is"] == "egit"
    assert not any(blobs().has(sha256) for sha256 in chunks)
    assert set(Chunk.objects.values_list("sha256", flat=True)) == {""}
    assert not workplace(run.pk).exists()
    about = ada.http.get(f"{ada.base}/bilgi").json()
    assert "on_isle" not in about["isler"]
    assert advance(run.pk) is False


@pytest.mark.parametrize("order", list(permutations(range(3)))[1::2])
def test_the_same_bytes_in_any_order_by_anybody(run, preparer, wanted, order):
    people = [preparer(run, name) for name in ("bob", "cem", "dan")]
    tasks = [someone.lease() for someone in people]
    for index in order:
        body = people[index].make(tasks[index], sure_s=str(index))
        assert people[index].send(tasks[index], body).status_code == 200
    judge_all(run)
    assert advance(run.pk) is True
    assert _shards(run) == wanted


@pytest.mark.parametrize("where", ["_mix", "store_shard", "_begin", "forget_text"])
def test_killed_after_any_step_it_is_done_again(run, ada, wanted, monkeypatch, where):
    _ready(run, ada)
    step = getattr(mix, where)

    def die(*arguments: object):
        step(*arguments)
        raise Killed

    monkeypatch.setattr(mix, where, die)
    with pytest.raises(Killed):
        advance(run.pk)
    monkeypatch.undo()
    reconcile()
    advance(run.pk)
    assert _shards(run) == wanted
    assert Run.objects.get(pk=run.pk).state == Run.State.OPEN
    assert Round.objects.filter(run=run).count() == 1
    assert Unit.objects.filter(round__run=run, job=Unit.Job.TRAIN).count() == 2
    assert set(Chunk.objects.filter(run=run).values_list("sha256", flat=True)) == {""}


def test_one_at_a_time_and_what_two_mixed_begins_once(run, ada):
    _ready(run, ada)
    with alone(run.pk) as may:
        assert may and advance(run.pk) is False and nudge_if_due(run) is False
    assert nudge_if_due(run) is True
    assert advance(run.pk) is True
    assert mix._begin(run, [], []) is False


def test_the_reconciler_nudges_what_is_due(run, ada, broker_away):
    assert nudge_if_due(run) is False
    ada.work()
    assert nudge_if_due(run) is True  # and does not mind that nobody hears it


def test_a_pause_holds_the_mixing_back(run, ada):
    _ready(run, ada)
    pause_run(run, "a question")
    assert advance(run.pk) is False
    resume_run(run)
    assert advance(run.pk) is True


def test_paused_while_it_is_mixed_it_begins_when_resumed(run, ada, monkeypatch):
    _ready(run, ada)
    step = mix._begin

    def slow(*arguments):
        pause_run(run, "a question")
        return step(*arguments)

    monkeypatch.setattr(mix, "_begin", slow)
    assert advance(run.pk) is True
    run.refresh_from_db()
    assert run.state == Run.State.PAUSED
    resume_run(run)
    run.refresh_from_db()
    assert run.state == Run.State.OPEN and ada.lease()["is"] == "egit"


def test_too_little_text_pauses_with_the_reason(tmp_path, preparer):
    run = make_raw_run(tmp_path, shards=100)
    ada = preparer(run, "ada")
    for _ in range(3):
        task = ada.lease()
        ada.send(task, rows_file(np.full((2, SEQ), 65)))
    judge_all(run)
    assert advance(run.pk) is False
    run.refresh_from_db()
    assert run.state == Run.State.PAUSED
    assert "6 rows, too few for 100 shards" in run.pause_reason


def test_too_little_text_is_refused_where_it_can_be_seen(tmp_path, db):
    with pytest.raises(ValidationError, match="too few"):
        make_raw_run(tmp_path, shards=5000)
    assert not Run.objects.exists()


def test_only_raw_text_for_pretraining(tmp_path, db):
    with pytest.raises(ValidationError, match="cpt"):
        make_raw_run(tmp_path, mode="sft")


def test_text_that_two_runs_share_stays_for_the_other(tmp_path, run, ada):
    other = make_raw_run(tmp_path, slug="other")
    _ready(run, ada)
    assert advance(run.pk) is True
    assert all(blobs().has(chunk.sha256) for chunk in Chunk.objects.filter(run=other))
    assert Preparation.objects.get(run=other).prepared_at is None
