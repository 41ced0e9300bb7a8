"""``/adaptor`` and ``/veri``: conditional, partial and refused requests."""

import hashlib

import pytest

from coordination.models import DataShard, Run, Snapshot
from coordination.rounds.retain import collect_blobs
from coordination.storage import blobs
from tests.coordination.making import make_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def url(run: Run) -> str:
    return f"/c/{run.slug}/adaptor?tur=1"


def content(answer) -> bytes:
    return b"".join(answer.streaming_content) if answer.streaming else answer.content


def test_a_file_has_a_strong_etag_and_its_length(run, client, url):
    answer = client.get(url)
    body = content(answer)
    assert answer.headers["ETag"] == f'"{hashlib.sha256(body).hexdigest()}"'
    assert int(answer.headers["Content-Length"]) == len(body)
    assert answer.headers["Accept-Ranges"] == "bytes"
    assert answer.headers["X-Modelen-Protokol"] == "1"
    head = client.head(url)
    assert head.status_code == 200 and head.content == b""
    assert head.headers["Content-Length"] == str(len(body))


def test_if_none_match_saves_the_body(run, client, url):
    etag = client.head(url).headers["ETag"]
    for header in (etag, f'"other", {etag}', "*"):
        assert client.get(url, headers={"If-None-Match": header}).status_code == 304
    assert client.get(url, headers={"If-None-Match": '"other"'}).status_code == 200


@pytest.mark.parametrize(
    ("asked", "start", "stop"),
    [("bytes=0-9", 0, 10), ("bytes=100-", 100, None), ("bytes=-7", -7, None)],
)
def test_a_single_range_is_answered_with_its_bytes(run, client, url, asked, start, stop):
    whole = content(client.get(url))
    answer = client.get(url, headers={"Range": asked})
    assert answer.status_code == 206 and content(answer) == whole[start:stop]
    first = len(whole) + start if start < 0 else start
    last = len(whole) - 1 if stop is None else stop - 1
    assert answer.headers["Content-Range"] == f"bytes {first}-{last}/{len(whole)}"


@pytest.mark.parametrize(
    "asked", ["bytes=0-1,5-6", "bytes=9-3", "lines=1-2", "bytes=", "bytes=-", "bytes=a-b"]
)
def test_a_range_that_makes_no_sense_is_ignored(run, client, url, asked):
    assert client.get(url, headers={"Range": asked}).status_code == 200


@pytest.mark.parametrize(
    "asked", ["bytes=99999999-", "bytes=-0", "bytes=999999999999-9999999999999"]
)
def test_a_range_outside_is_416(run, client, url, asked):
    answer = client.get(url, headers={"Range": asked})
    assert answer.status_code == 416 and answer.json()["kod"] == "aralik_disi"


def test_if_range_with_another_etag_gives_the_whole_file(run, client, url):
    answer = client.get(url, headers={"Range": "bytes=0-9", "If-Range": '"old"'})
    assert answer.status_code == 200
    etag = answer.headers["ETag"]
    assert client.get(url, headers={"Range": "bytes=0-9", "If-Range": etag}).status_code == 206


@pytest.mark.parametrize(
    "query", ["", "?tur=", "?tur=x", "?tur=-1", "?tur=1.0", "?tur=" + "9" * 30]
)
def test_a_number_that_is_none_is_a_bad_request(run, client, query):
    answer = client.get(f"/c/{run.slug}/adaptor{query}")
    assert answer.status_code == 400 and answer.json()["kod"] == "gecersiz_istek"


def test_what_is_not_there_is_404(run, client):
    assert client.get(f"/c/{run.slug}/adaptor?tur=2").json()["kod"] == "yok"
    assert client.get(f"/c/{run.slug}/veri?parca=2").status_code == 404


def test_every_shard_is_served(run, client):
    for shard in DataShard.objects.filter(run=run):
        answer = client.get(f"/c/{run.slug}/veri?parca={shard.index}")
        assert hashlib.sha256(content(answer)).hexdigest() == shard.sha256


def test_retention_deletes_old_snapshots_and_keeps_the_last(run, client, url):
    first = Snapshot.objects.get(run=run)
    for number in range(2, 5):
        with blobs().new_file() as writer:
            writer.write(f"snapshot {number}".encode())
            blob = writer.seal()
        Snapshot.objects.create(
            run=run, number=number, sha256=blob.sha256, size=blob.size, data_start=0
        )
    Run.objects.update(keep_snapshots=2)
    removed = collect_blobs(older_than_s=-1)
    assert first.sha256 in removed and not blobs().has(first.sha256)
    answer = client.get(url)
    assert answer.status_code == 410 and answer.json()["kod"] == "silindi"
    assert client.get(f"/c/{run.slug}/adaptor?tur=3").status_code == 200
    assert client.get(f"/c/{run.slug}/adaptor?tur=4").status_code == 200


def test_a_collection_leaves_shared_and_named_bytes_alone(run, tmp_path):
    twin = make_run(tmp_path, "twin")
    assert Snapshot.objects.get(run=run).sha256 == Snapshot.objects.get(run=twin).sha256
    assert collect_blobs(older_than_s=-1) == []
    Snapshot.objects.filter(run=twin).update(deleted_at="2020-01-01T00:00:00Z")
    assert collect_blobs(older_than_s=-1) == []


def test_bilgi_tells_what_the_coordinator_is(run, client):
    about = client.get(f"/c/{run.slug}/bilgi").json()
    assert about["protokol"] == 1 and about["bicim"] == run.format and about["veri"] is True
    assert about["taban_model"] == "modelen/tiny-qwen3@seed-0" and about["n_parca"] == 2


@pytest.mark.parametrize(
    "fields",
    [
        {"rule": "multi_krum"},
        {"clip_norms": True},
        {"exact_lora": True},
        {"outer": "sgd"},
        {"outer_momentum": 0.9},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_only_the_reference_step_is_called_so(run, client, fields):
    assert client.get(f"/c/{run.slug}/bilgi").json()["birlestirme"] == "referans"
    Run.objects.filter(pk=run.pk).update(**fields)
    assert client.get(f"/c/{run.slug}/bilgi").json()["birlestirme"] == ""


def test_runs_live_side_by_side(run, tmp_path, client):
    other = make_run(tmp_path, "other", rounds=7)
    assert client.get(f"/c/{other.slug}/durum").json()["tur_sayisi"] == 7
    assert client.get(f"/c/{run.slug}/durum").json()["tur_sayisi"] == 3
