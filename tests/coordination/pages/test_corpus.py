"""What a run's text is made of: who may see it, and what is shown."""

import json
import re

import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.urls import reverse
from django.utils import translation

from coordination.management.commands.create_run import shard_files
from coordination.models import Run
from tests.coordination.corpora import CORPUS

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def language():
    with translation.override("en"):
        yield


@pytest.fixture
def described_run(run) -> Run:
    Run.objects.update(corpus=CORPUS, corpus_public=True)
    run.refresh_from_db()
    return run


def text_of(answer) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", answer.content.decode()).split())


def test_an_open_run_shows_it_where_its_operator_says_so(client, described_run):
    assert f'href="/c/{described_run.slug}/derlem"' in client.get("/c/tiny/").content.decode()
    answer = client.get("/c/tiny/derlem")
    assert answer.status_code == 200
    text = text_of(answer)
    assert "Turkish 1,500 1,234 160 106 5.6 MB 1,400,000 14,321" in text
    assert "xx 2 0 0 2 0 B 0 0" in text
    assert "Körfezi geçer." in text and "Turkish · öykü" in text
    html = answer.content.decode()
    assert "&lt;b&gt;Vapur&lt;/b&gt;" in html and '<blockquote lang="tr">' in html


@pytest.mark.parametrize(
    "hidden", [{"open_to_all": False}, {"corpus_public": False}, {"corpus": {}}], ids=str
)
def test_otherwise_nobody_sees_it(client, described_run, hidden):
    Run.objects.update(**hidden)
    assert client.get("/c/tiny/derlem").status_code == 404
    run_page = client.get("/c/tiny/").content.decode()
    assert "derlem" not in run_page and "Körfezi" not in run_page
    for name in ("bilgi", "durum", "canli", "pano"):
        assert "Körfezi" not in client.get(f"/c/tiny/{name}").content.decode()


@pytest.mark.parametrize("corpus", [CORPUS, {}])
def test_staff_see_that_of_a_closed_run_in_the_admin_site(client, described_run, corpus):
    Run.objects.update(open_to_all=False, corpus=corpus)
    client.force_login(get_user_model().objects.create_superuser("admin@example.org", "correct 9"))
    answer = client.get(reverse("admin:coordination_run_change", args=[described_run.pk]))
    assert answer.status_code == 200
    assert ("Körfezi geçer." in answer.content.decode()) is bool(corpus)


def test_the_reader_s_language_names_the_languages(client, described_run):
    with translation.override("de"):
        from coordination.pages.corpus import name_of

        assert (name_of("tr"), name_of("xx")) == ("Türkisch", "xx")


def listed(folder, corpus) -> None:
    report = {"shards": [], "corpus": corpus}
    (folder / "shards.json").write_text(json.dumps(report), "utf-8")


def test_a_run_is_created_with_what_its_shards_say(tmp_path, described_run):
    listed(tmp_path, CORPUS)
    run = Run()
    shard_files(tmp_path, run)
    assert run.corpus["languages"]["tr"] == CORPUS["languages"]["tr"]
    assert run.corpus["samples"] == CORPUS["samples"]


@pytest.mark.parametrize(
    "wrong",
    [{"sha256": "x"}, {"languages": {"../": {}}}, {"languages": {"tr": {"read": -1}}},
     {"samples": [{"language": "tr", "title": "\0", "category": "", "text": ""}]}],
    ids=str,
)  # fmt: skip
def test_a_bad_description_is_refused(tmp_path, wrong):
    listed(tmp_path, CORPUS | wrong)
    with pytest.raises(CommandError, match="describes its corpus badly"):
        shard_files(tmp_path, Run())


def test_create_run_says_what_is_missing(tmp_path):
    with pytest.raises(CommandError, match="make it with shard_text or corpus shard"):
        call_command("create_run", "new", "--data", str(tmp_path), "--rounds", "1")
