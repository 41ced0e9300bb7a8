"""What is told of how a run goes."""

import json
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from coordination.clock import now
from coordination.leases.expire import expire_leases
from coordination.live.dashboard import Figures, dashboard
from coordination.live.snapshot import page_snapshot
from coordination.models import Check, Lease, RefusalCount, RoundTally, Snapshot, Worker
from coordination.tallies.gather import flush
from tests.coordination.live.test_snapshot import _publish
from tests.coordination.making import WorkerOf, make_run

pytestmark = pytest.mark.django_db


def test_a_run_without_news_has_zeros_and_its_first_snapshot(run):
    seen = dashboard(run)
    assert seen.phase == "waiting" and seen.rounds == [] and seen.refusals == {}
    assert set(seen.total.values()) == {0}
    assert set(seen.checks.values()) == {0}
    first = Snapshot.objects.get()
    assert [(v.number, v.sha256, v.is_kept) for v in seen.versions] == [(1, first.sha256, True)]


def test_totals_have_the_published_rounds_and_the_one_under_way(
    run, play_round, result_file, post_whole
):
    play_round(run, 2.5)
    RoundTally.objects.filter(round__number=1).update(expired=3)
    late = WorkerOf(run, "late")
    late.lease()
    Lease.objects.filter(state=Lease.State.LIVE).update(expires_at=now() - timedelta(seconds=1))
    expire_leases()
    ada = WorkerOf(run, "ada")
    post_whole(ada, ada.lease(), result_file(5, token="64", cihaz="NVIDIA H200"))
    run.refresh_from_db()
    seen = dashboard(run)
    assert [figures.workers for figures in seen.rounds] == [2]
    assert (seen.current.workers, seen.current.gpu_workers, seen.current.tokens) == (2, 1, 64)
    assert (seen.total["expired"], seen.total["tokens"]) == (3 + 1, 64)
    assert seen.checks == {"valid": 0, "invalid": 0, "unverified": 3, "pending": 0}
    Check.objects.filter(result__unit__round__number=2).update(state=Check.State.PENDING)
    assert dashboard(run).checks == {"valid": 0, "invalid": 0, "unverified": 2, "pending": 1}


def test_the_speed_is_that_of_the_leases_that_live(run):
    worker = WorkerOf(run)
    task = worker.lease()
    worker.report(task, 2)
    Lease.objects.update(granted_at=now() - timedelta(seconds=8))
    seen = dashboard(run)
    assert seen.live_leases == 1
    assert seen.tokens_per_second == pytest.approx(2 * 2 * 16 / 8, rel=0.2)


def test_refusals_come_the_most_frequent_first(run):
    for code, count in (("yok", 1), ("norm_asimi", 9), ("mesgul", 4)):
        RefusalCount.objects.create(run=run, code=code, count=count)
    assert list(dashboard(run).refusals) == ["norm_asimi", "mesgul", "yok"]
    shown = page_snapshot(run)["refusals"]
    assert shown[0] == {"code": "norm_asimi", "count": 9, "width": "100.00%"}
    assert shown[2]["width"] == "11.11%"


def test_rounds_from_before_anything_was_counted_are_empty(run):
    _publish(run, range(1, 4))
    RoundTally.objects.filter(round__number=2).delete()
    seen = dashboard(run)
    assert seen.rounds[1] == Figures()
    assert seen.rounds[2].tokens == 2700
    row = page_snapshot(run)["history"][1]
    assert row["round"] == 2 and row["workers"] is None and row["speed"] is None


def test_a_round_that_is_published_while_it_is_read_counts_once(run, play_round, monkeypatch):
    from coordination.live import dashboard as module

    def measured_meanwhile(round_):
        found = measure(round_)
        play_round(run, 2.5)
        return found

    measure = module.measure
    WorkerOf(run, "ada").lease()
    Lease.objects.update(state=Lease.State.EXPIRED)
    RoundTally.objects.create(round=run.current_round, expired=1)
    run.current_round.unit_set.update(state="free")
    monkeypatch.setattr(module, "measure", measured_meanwhile)
    assert dashboard(run).total["expired"] == 1


def test_its_queries_do_not_grow_with_rounds_or_workers(run):
    def queries() -> int:
        with CaptureQueriesContext(connection) as asked:
            dashboard(run)
        return len(asked)

    _publish(run, range(1, 2))
    few = queries()
    _publish(run, range(2, 200))
    Worker.objects.bulk_create(Worker(run=run, name=f"w{n}", last_seen_at=now()) for n in range(50))
    assert queries() == few


def test_the_json_is_public_and_pages_like_durum(client, run, tmp_path):
    make_run(tmp_path, "other")
    _publish(run, range(1, 151))
    answer = client.get(f"/c/{run.slug}/pano")
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert "max-age=5" in answer.headers["Cache-Control"]
    body = answer.json()
    assert (body["run"], body["phase"], body["current"]) == ("tiny", "waiting", None)
    assert [row["round"] for row in body["history"]] == list(range(51, 151))
    newest = body["history"][-1]
    assert (newest["loss"], newest["tokens"], newest["bytes_up"]) == (150.0, 135_000, 150_000_000)
    assert body["snapshots"][0]["number"] == 151 and len(body["snapshots"]) == 101
    assert body["snapshots"][0]["sha256"] == newest["sha256"] == f"{151:064x}"
    assert body["total"]["expired"] == 150 and body["checks"]["valid"] == 450
    older = client.get(f"/c/{run.slug}/pano?once=51").json()
    assert [row["round"] for row in older["history"]] == list(range(1, 51))
    assert [v["number"] for v in older["snapshots"]] == list(range(51, 0, -1))
    assert client.get("/c/nothing/pano").status_code == 404
    assert client.post(f"/c/{run.slug}/pano").status_code == 405


def test_what_was_gathered_shows(client, run, worker):
    worker.register()
    answer = worker.http.get(f"{worker.base}/adaptor?tur=1")
    size = len(b"".join(answer.streaming_content))
    worker.http.get(f"{worker.base}/adaptor?tur=7")
    flush()
    body = client.get(f"/c/{run.slug}/pano").json()
    assert body["total"]["bytes_down"] == body["current"]["bytes_down"] == size
    assert body["refusals"] == {"yok": 1}
    assert json.loads(json.dumps(body)) == body
