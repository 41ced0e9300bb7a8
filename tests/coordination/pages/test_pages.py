"""Home and run page as a browser without JavaScript gets them."""

import json
import re

import pytest
from django.test import Client
from django.utils import translation

from coordination.live.watched import REFRESH_S
from coordination.models import RefusalCount, Run
from tests.coordination.live.test_snapshot import _publish
from tests.coordination.making import make_run

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def language():
    with translation.override("en"):
        yield


def _text(response) -> str:
    """What a person reads of a page."""
    body = re.sub(r"<(script|template|head)\b.*?</\1>", "", response.content.decode(), flags=re.S)
    return " ".join(re.sub(r"<[^>]+>", " ", body).split())


def test_home_without_runs_says_how_to_make_one(client):
    assert "manage.py create_run" in _text(client.get("/"))


def test_home_lists_runs_with_links(client, run):
    response = client.get("/")
    assert f'href="/c/{run.slug}/"' in response.content.decode()
    text = _text(response)
    assert "Waiting for volunteers" in text and "Round 1 of 3" in text


def test_home_has_pages(client, tmp_path, run):
    Run.objects.bulk_create(
        Run(slug=f"r{i}", name=f"r{i}", format=run.format, rounds=1, shards=1, units_per_round=1,
            target_results=1)
        for i in range(30)
    )  # fmt: skip
    assert 'rel="next" href="?page=2"' in client.get("/").content.decode()
    assert 'rel="prev" href="?page=1"' in client.get("/?page=2").content.decode()


def test_the_run_page_says_everything(client, run, worker):
    Run.objects.filter(pk=run.pk).update(
        name="A run", description="What it is for.", data_source="Old books", data_licence="CC0",
        contact="someone@example.org", bytes_up=1_234_567,
    )  # fmt: skip
    worker.lease()
    response = client.get(f"/c/{run.slug}/")
    text = _text(response)
    for part in (
        "A run", "What it is for.", "Training", "Round 1 / 3", "0 units done", "1 in training",
        "1 free", "1.2 MB", "Tokens per second 0", "Leases expired 0",
        "No result has been checked yet", "No request has been refused",
        "No round has been published yet", "modelen/tiny-qwen3", run.format,
        "H=2, batches of 2 × 16 tokens", "lr 0.01", "Nesterov", "Old books", "CC0",
        "someone@example.org", "python -m worker_client run http://testserver/c/tiny", "ada",
    ):  # fmt: skip
        assert part in text, part


def test_the_run_page_draws_the_chart_and_its_table(client, run):
    _publish(run, range(1, 4))
    html = client.get(f"/c/{run.slug}/").content.decode()
    assert html.count('<circle class="point"') == 3 + 1, "three rounds and the row's template"
    assert 'd="M0.00 100.00 L50.00 50.00 L100.00 0.00"' in html
    assert (
        '<title id="chart-title">' in html and 'aria-labelledby="chart-title chart-summary"' in html
    )
    text = _text(client.get(f"/c/{run.slug}/"))
    assert "From 1.0000 in round 1 to 3.0000 in round 3; lowest 1.0000." in text
    assert "3 3.0000 2 1:30 – 4 · 000000000000" in text


def test_the_run_page_draws_what_rounds_took_and_says_it_in_words_and_numbers(client, run):
    _publish(run, range(1, 4))
    html = client.get(f"/c/{run.slug}/").content.decode()
    assert 'class="layer up" data-attributes="d:trends.bytes.up" d="M0 100V83.3H33.3' in html
    assert 'aria-labelledby="bytes-title bytes-summary"' in html
    text = _text(client.get(f"/c/{run.slug}/"))
    assert "Volunteers on a GPU on a CPU not said" in text
    assert "5 in round 3, 1 of them on a GPU; at most 5." in text
    assert "30 in round 3; at most 30." in text
    assert "3.0 MB up and 3.0 MB down in round 3." in text
    assert "In round 3: 1 expired, 2 refused, 0 screened out." in text
    assert "3 5 1 2 2,700 30 3.0 MB 3.0 MB 1 2 0 3 1 0 –" in text, "the row of the table"


def test_the_run_page_tells_of_checks_and_refusals(client, run):
    _publish(run, range(1, 3))
    RefusalCount.objects.create(run=run, code="norm_asimi", count=1234)
    text = _text(client.get(f"/c/{run.slug}/"))
    assert "6 found valid 2 found invalid 0 not verified 0 under check" in text
    assert "update too long norm_asimi 1,234" in text


def test_older_rounds_are_a_link_away(client, run):
    _publish(run, range(1, 31))
    first = client.get(f"/c/{run.slug}/").content.decode()
    assert 'href="?once=11#rounds"' in first
    older = client.get(f"/c/{run.slug}/?once=11")
    assert "10 10.0000" in _text(older) and "11 11.0000" not in _text(older)
    assert 'data-list="history"' not in older.content.decode(), "nothing live replaces old rows"


@pytest.mark.parametrize("once", ["", "0", "-1", "x", "٣", "9" * 40])
def test_a_bad_round_number_does_no_harm(client, run, once):
    assert client.get(f"/c/{run.slug}/", {"once": once}).status_code == 200


def test_a_paused_run_gives_its_reason_and_a_finished_one_no_invitation(client, run):
    Run.objects.update(state=Run.State.PAUSED, pause_reason="a look <at> the data")
    html = client.get(f"/c/{run.slug}/").content.decode()
    assert "a look &lt;at&gt; the data" in html
    Run.objects.update(state=Run.State.FINISHED)
    html = client.get(f"/c/{run.slug}/").content.decode()
    assert re.search(r'<section class="panel join"[^>]* hidden>', html)


def test_names_that_try_to_be_markup_stay_text(client, run):
    Run.objects.update(name="<script>alert(1)</script>", description='"><img src=x>')
    html = client.get(f"/c/{run.slug}/").content.decode()
    assert "<script>alert" not in html and "<img src=x" not in html


@pytest.mark.parametrize("path", ["/", "/c/tiny/"])
def test_pages_obey_their_own_content_security_policy(client, run, path):
    _publish(run, range(1, 4))
    response = client.get(path)
    policy = response.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy
    html = response.content.decode()
    assert not re.search(r"<[^>]+\s(style|on\w+)=", html), "inline style or handler"
    assert "<style" not in html and not re.search(r"<script(?![^>]*\bsrc=)", html)
    assert not re.search(r'(src|href)="(https?:)?//', html), "something from another site"


def test_pages_speak_turkish_when_asked(run):
    visitor = Client(headers={"Accept-Language": "tr"})
    response = visitor.get(f"/c/{run.slug}/")
    assert '<html lang="tr">' in response.content.decode()


@pytest.mark.needs("gettext")
def test_the_language_form_keeps_the_choice(client, run, compiled_turkish):
    page = f"/c/{run.slug}/"
    answer = client.post("/i18n/setlang/", {"language": "tr", "next": page})
    assert answer.headers["Location"] == page
    text = _text(client.get(page))
    assert "Gönüllü bekleniyor" in text and "0 iş bitti" in text and "English" in text


def test_no_run_no_page(client, db):
    response = client.get("/c/nothing/")
    assert response.status_code == 404
    assert "There is nothing at this address" in _text(response)


def test_an_error_page_needs_nothing_that_may_be_broken(client, run, monkeypatch):
    def broken(*args: object) -> dict:
        raise RuntimeError("anything")

    monkeypatch.setattr("coordination.pages.views.page_snapshot", broken)
    client.raise_request_exception = False
    response = client.get(f"/c/{run.slug}/")
    assert response.status_code == 500
    assert "Something broke on this server" in _text(response)


def test_the_page_is_for_reading_only(client, run):
    assert client.post(f"/c/{run.slug}/").status_code == 405


def test_the_json_snapshot_is_the_sockets_and_is_sent_once(client, run, monkeypatch):
    path = f"/c/{run.slug}/canli"
    first = client.get(path)
    assert json.loads(first.content)["round"] == 1
    assert "no-cache" in first.headers["Cache-Control"]
    same = {"If-None-Match": first.headers["ETag"]}
    assert client.get(path, headers=same).status_code == 304
    Run.objects.filter(pk=run.pk).update(version=run.version + 1)
    assert client.get(path, headers=same).status_code == 200


def test_the_json_snapshot_is_renewed_without_a_change_too(client, run, monkeypatch):
    from coordination import clock
    from coordination.pages import views

    path = f"/c/{run.slug}/canli"
    tag = client.get(path).headers["ETag"]
    later = clock.now().timestamp() + REFRESH_S
    monkeypatch.setattr(views, "now", lambda: clock.datetime.fromtimestamp(later, clock.UTC))
    assert client.get(path, headers={"If-None-Match": tag}).status_code == 200


def test_two_runs_two_pages(client, run, tmp_path):
    make_run(tmp_path, "other")
    assert "/c/other" in _text(client.get("/c/other/"))
    assert "/c/tiny" not in _text(client.get("/c/other/"))
