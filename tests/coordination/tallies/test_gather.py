"""What is counted by the way, and that it costs one short transaction a second."""

import pytest
from django.db import DatabaseError, connection
from django.test.utils import CaptureQueriesContext

from coordination.models import RefusalCount, RoundTally, Run, Worker, WorkerTraffic
from coordination.tallies import gather
from coordination.tallies.add import add
from coordination.tallies.gather import count_bytes, count_refusal, flush, flush_if_due
from tests.coordination.making import WorkerOf

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def written_when_asked(monkeypatch):
    monkeypatch.setattr(gather, "FLUSH_SECONDS", 3600.0)  # however slow the machine is
    flush()


def moved(rows) -> list[tuple]:
    return list(rows.order_by("pk").values_list("pk", "bytes_up", "bytes_down"))


def test_counts_are_written_together(run):
    ada = Worker.objects.create(run=run, name="ada")
    round_ = run.current_round
    for _ in range(2):
        count_bytes(run.pk, 1, ada.pk, up=3)
        count_bytes(run.pk, 1, None, down=10)
        count_refusal(run.pk, "mesgul")
        flush_if_due()
        assert not RoundTally.objects.exists() and not RefusalCount.objects.exists(), "not yet due"
    flush()
    flush()
    stored = Run.objects.get(pk=run.pk)
    assert (stored.bytes_up, stored.bytes_down) == (6, 20)
    assert stored.version > run.version, "watchers hear of it"
    assert moved(RoundTally.objects) == [(round_.pk, 6, 20)]
    assert moved(WorkerTraffic.objects) == [(ada.pk, 6, 0)]
    assert list(RefusalCount.objects.values_list("run", "code", "count")) == [(run.pk, "mesgul", 2)]
    count_bytes(run.pk, 1, ada.pk, down=1)
    flush()
    assert moved(RoundTally.objects) == [(round_.pk, 6, 21)]
    assert moved(WorkerTraffic.objects) == [(ada.pk, 6, 1)]


def test_what_is_gone_takes_nothing_and_harms_nothing(run):
    count_bytes(run.pk + 1, 1, 10**6, up=3)
    count_bytes(run.pk, 99, None, up=4)
    count_refusal(run.pk + 1, "yok")
    flush()
    assert Run.objects.get(pk=run.pk).bytes_up == 4
    for table in (RoundTally, WorkerTraffic, RefusalCount):
        assert not table.objects.exists()


def test_a_thousand_workers_cost_as_many_statements_as_one(run):
    Worker.objects.bulk_create(Worker(run=run, name=f"w{n}") for n in range(1000))
    ids = list(Worker.objects.values_list("pk", flat=True))

    def statements(workers: list[int]) -> int:
        for pk in workers:
            count_bytes(run.pk, 1, pk, up=1, down=2)
        with CaptureQueriesContext(
            connection,
        ) as queries:
            flush()
        return len(queries)

    assert statements(ids) == statements(ids[:1])
    assert WorkerTraffic.objects.count() == 1000
    assert WorkerTraffic.objects.get(pk=ids[0]).bytes_up == 2


def test_a_database_that_is_away_fails_no_request(run, monkeypatch, caplog):
    def away(*_: object) -> None:
        raise DatabaseError("no connection")

    count_refusal(run.pk, "mesgul")
    monkeypatch.setattr(gather, "write", away)
    flush()
    assert "could not write" in caplog.text


def test_rows_are_added_to_whatever_their_order(run):
    add(RefusalCount, ["run_id", "code"], ["count"], [(run.pk, "b", 1), (run.pk, "a", 2)])
    add(RefusalCount, ["run_id", "code"], ["count"], [(run.pk, "a", 3), (run.pk, "c", 4)])
    add(RefusalCount, ["run_id", "code"], ["count"], [])
    counted = dict(RefusalCount.objects.values_list("code", "count"))
    assert counted == {"a": 5, "b": 1, "c": 4}


def test_requests_are_counted_for_their_round_and_worker(run, worker, result_file, post_whole):
    worker.register()
    task = worker.lease()
    file = result_file()
    assert post_whole(worker, task, file).status_code == 200
    snapshot = worker.http.get(f"{worker.base}/adaptor?tur=1")
    shard = worker.http.get(f"{worker.base}/veri?parca=0")
    sent = sum(len(b"".join(answer.streaming_content)) for answer in (snapshot, shard))
    flush()
    tally, traffic = RoundTally.objects.get(), WorkerTraffic.objects.get()
    assert (tally.round, traffic.worker.name) == (run.current_round, "ada")
    assert (tally.bytes_up, tally.bytes_down) == (len(file), sent)
    assert (traffic.bytes_up, traffic.bytes_down) == (len(file), sent)


def test_refusals_are_counted_by_code(run, worker):
    stranger = WorkerOf(run, "bob")
    stranger.register()
    stranger.http.defaults["HTTP_AUTHORIZATION"] = "Bearer wrong"
    assert stranger.ask().json()["kod"] == "isci_uyusmuyor"
    assert worker.http.get("/c/tiny/adaptor?tur=9").status_code == 404
    assert worker.http.get("/c/tiny/nowhere").status_code == 404
    assert worker.http.delete("/c/tiny/gorev").status_code == 405
    assert worker.http.get("/c/nothing/bilgi").status_code == 404, "no run, no count"
    flush()
    counted = dict(RefusalCount.objects.values_list("code", "count"))
    assert counted == {"isci_uyusmuyor": 1, "yok": 2, "yontem_yok": 1}
