"""What ``/durum`` and the live page tell of a run."""

import json
from datetime import timedelta

import pytest

from coordination.clock import now
from coordination.live.overview import annotated_runs, cards
from coordination.live.snapshot import page_snapshot
from coordination.live.status import HISTORY_ROUNDS, phase_of, status
from coordination.models import Round, RoundTally, Run, Snapshot, Unit, Worker
from coordination.rounds.pause import pause_run
from tests.coordination.making import WorkerOf, make_run
from worker_client.contract.wire import RunState

pytestmark = pytest.mark.django_db


def _publish(run: Run, numbers: range) -> None:
    """Rows of published rounds, where their number matters and not how they came about."""
    Round.objects.filter(run=run).delete()
    at = now()
    Round.objects.bulk_create(
        Round(
            run=run,
            number=number,
            state=Round.State.PUBLISHED,
            opened_at=at,
            deadline_at=at,
            published_at=at + timedelta(seconds=90),
            loss=float(number),
            accepted=2,
        )
        for number in numbers
    )
    RoundTally.objects.bulk_create(
        RoundTally(
            round=round_,
            bytes_up=10**6 * round_.number,
            bytes_down=3 * 10**6,
            expired=1,
            tokens=900 * round_.number,
            workers=5,
            gpu_workers=1,
            cpu_workers=2,
            refused=2,
            checks_valid=3,
            checks_invalid=1,
            checks_unverified=0,
        )
        for round_ in Round.objects.filter(run=run)
    )
    Snapshot.objects.bulk_create(
        Snapshot(run=run, number=n + 1, sha256=f"{n + 1:064x}", size=9, data_start=1)
        for n in numbers
    )


def test_a_fresh_run_is_open_with_everything_free(run):
    seen = status(run)
    assert (seen.state, seen.round, seen.rounds, seen.workers) == (RunState.OPEN, 1, 3, 0)
    assert (seen.tasks.free, seen.tasks.leased, seen.tasks.done) == (2, 0, 0)
    assert (seen.results.accepted, seen.results.refused, seen.results.screened) == (0, 0, 0)
    assert seen.history == []


def test_a_run_that_has_not_started_is_ready(tmp_path):
    ready = make_run(tmp_path, "later", start=False)
    assert status(ready).state == RunState.READY


def test_a_lease_and_a_result_are_counted(run, worker, result_file, post_whole):
    task = worker.lease()
    assert (status(run).tasks.leased, status(run).workers) == (1, 1)
    post_whole(worker, task, result_file())
    seen = status(run)
    assert (seen.tasks.free, seen.tasks.leased, seen.tasks.done) == (1, 0, 1)
    assert seen.results.accepted == 1


def test_a_refused_file_is_counted_as_refused(run, worker, post_whole):
    post_whole(worker, worker.lease(), b"no safetensors at all")
    seen = status(run)
    assert (seen.results.refused, seen.results.accepted, seen.tasks.free) == (1, 0, 2)


def test_a_published_round_enters_the_history_with_the_digest_it_made(run, play_round):
    play_round(run, 2.5)
    seen = status(run)
    assert seen.round == 2 and len(seen.history) == 1
    done = seen.history[0]
    assert (done.round, done.loss, done.accepted, done.screened) == (1, 2.5, 2, 0)
    assert done.sha256 == Snapshot.objects.get(run=run, number=2).sha256


def test_the_merging_round_shows_on_the_wire(run):
    Round.objects.filter(run=run).update(state=Round.State.MERGING)
    assert status(run).state == RunState.MERGING
    pause_run(run, "checking")
    run.refresh_from_db()
    assert status(run).state == RunState.PAUSED


def test_silent_workers_without_a_lease_no_longer_count(run, worker):
    worker.ask()
    Worker.objects.update(last_seen_at=now() - timedelta(hours=1))
    assert status(run).workers == 1, "it still holds its lease"
    run.round_set.get().unit_set.update(state=Unit.State.FREE)
    Worker.objects.get().lease_set.update(state="expired")
    assert status(run).workers == 0


def test_history_is_the_last_hundred_rounds_and_older_ones_on_request(run):
    _publish(run, range(1, 151))
    newest = [row.round for row in status(run).history]
    assert newest == list(range(151 - HISTORY_ROUNDS, 151))
    older = [row.round for row in status(run, before=newest[0]).history]
    assert older == list(range(1, newest[0]))


def test_runs_do_not_leak_into_each_other(run, tmp_path, play_round):
    other = make_run(tmp_path, "other")
    play_round(run, 2.5)
    seen = page_snapshot(other)
    assert seen["results"]["accepted"] == seen["workers"] == seen["published"] == 0
    assert seen["chart"] is None and seen["leases"] == [] and seen["total"]["bytes_up"] == 0
    assert seen["trends"]["workers"] is None and seen["checks"] is None
    assert seen["total"]["tokens"] == 0 and seen["refusals"] == []


def test_the_page_snapshot_is_small_json_without_language(run, play_round):
    play_round(run, 2.5)
    WorkerOf(run, "ada").lease()
    run.refresh_from_db()
    snapshot = page_snapshot(run)
    assert json.loads(json.dumps(snapshot)) == snapshot
    assert snapshot["version"] == run.version > 0
    assert snapshot["phase"] == "training"
    assert [lease["worker"] for lease in snapshot["leases"]] == ["ada"]
    assert snapshot["units"]["leased_width"] == "50.00%"
    assert snapshot["run_progress"] == "33.33%"
    assert snapshot["snapshot"]["number"] == 2


def test_the_page_snapshot_of_a_long_run_is_bounded(run):
    _publish(run, range(1, 3001))
    snapshot = page_snapshot(run)
    assert len(json.dumps(snapshot)) < 32_000
    assert snapshot["history"][0]["round"] == 3000
    assert snapshot["chart"]["last"]["round"] == 3000
    assert snapshot["chart"]["first"]["loss"] == pytest.approx(13.0)  # mean of rounds 1 to 25


def test_every_change_by_a_verb_raises_the_version(run, worker, play_round):
    versions = [run.version]

    def version() -> int:
        run.refresh_from_db()
        versions.append(run.version)
        return versions[-1] - versions[-2]

    task = worker.lease()
    assert version() > 0
    worker.http.post(
        f"{worker.base}/gorev/{task['gorev']}/nabiz",
        {"anahtar": task["anahtar"], "adim": 1, "kayip": 2.0},
        content_type="application/json",
    )
    assert version() > 0
    pause_run(run, "a look")
    assert version() > 0


@pytest.mark.parametrize(
    ("run_state", "round_state", "workers", "phase"),
    [
        ("ready", None, 0, "ready"),
        ("open", "open", 0, "waiting"),
        ("open", "open", 1, "training"),
        ("open", "merging", 0, "merging"),
        ("paused", "merging", 3, "paused"),
        ("finished", "published", 2, "finished"),
    ],
)
def test_phases(run_state, round_state, workers, phase):
    assert phase_of(run_state, round_state, workers) == phase


def test_the_overview_agrees_with_each_run_and_takes_one_query(
    run, tmp_path, play_round, django_assert_num_queries
):
    make_run(tmp_path, "later", start=False)
    play_round(run, 2.25)
    with django_assert_num_queries(1):
        listed = list(cards(annotated_runs()))
    assert [card.run.slug for card in listed] == ["tiny", "later"], "open runs come first"
    card, seen = listed[0], page_snapshot(run)
    assert card.phase == seen["phase"]
    assert (card.round, card.published, card.workers) == (2, 1, 2)
    assert card.loss == 2.25
    assert listed[1].workers == 0 and listed[1].loss is None
