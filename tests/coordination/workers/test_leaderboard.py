"""The leaderboard: who is on it, what it counts, how it is sorted and shown."""

import re
from typing import Any

import pytest
from django.utils import translation

from coordination.models import Result, Run, Worker
from coordination.templatetags.board import percent
from coordination.workers.leaderboard import leaderboard
from tests.coordination.making import WorkerOf, make_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def wide(tmp_path) -> Run:
    """A task here has 2 steps of 2 rows of 16 tokens: 64."""
    return make_run(tmp_path, "wide", shards=40, target_results=40, max_leases_per_worker=40)


@pytest.fixture
def deliver(wide, result_file, post_whole):
    """Deliver good and bad results as a registered worker, each said to be of ``tokens``."""
    seeds = iter(range(2, 1000))

    def work(name: str, good: int, bad: int = 0, tokens: str = "64", **choice) -> WorkerOf:
        worker = WorkerOf(wide, name)
        worker.register(**choice)
        for _ in range(good):
            body = result_file(next(seeds), token=tokens)
            assert post_whole(worker, worker.lease(), body).status_code == 200
        for _ in range(bad):
            body = result_file(next(seeds))[:-8]
            assert post_whole(worker, worker.lease(), body).status_code == 400
        return worker

    return work


def rows(run: Run, sort: str = "-tasks") -> list[tuple]:
    found: Any = leaderboard(run, sort)
    return [(row.name, row.tasks, row.tokens, round(row.share, 2)) for row in found]


def test_it_counts_accepted_tasks_their_tokens_and_their_share(wide, deliver):
    deliver("ada", 3)
    deliver("bob", 1, bad=1)
    deliver("cem", 0, bad=1)
    assert rows(wide) == [("ada", 3, 192, 1.0), ("bob", 1, 64, 0.5)]


def test_what_the_merge_screened_out_is_not_accepted(wide, deliver):
    deliver("ada", 2)
    first = Result.objects.first()
    Result.objects.filter(pk=first.pk).update(state=Result.State.SCREENED)
    assert rows(wide) == [("ada", 1, 64, 0.5)]


@pytest.mark.parametrize("told", ["4294967296", "1e30", "-5", "nan", "lots"])
def test_no_boast_counts_for_more_than_a_task_can_have(wide, deliver, told):
    deliver("ada", 1, tokens=told)
    assert rows(wide)[0][2] <= 64


def test_only_registered_workers_that_want_to_be_seen_are_on_it(
    wide, deliver, result_file, post_whole
):
    deliver("ada", 1)
    deliver("bob", 1, liste=False)
    stranger = WorkerOf(wide, "cem")
    assert post_whole(stranger, stranger.lease(), result_file(999)).status_code == 200
    WorkerOf(wide, "idle").register()
    deliver("gone", 1)
    Worker.objects.filter(name="gone").update(state=Worker.State.BLOCKED)
    assert [row[0] for row in rows(wide)] == ["ada"]


def test_a_stranger_s_work_does_not_raise_whoever_registers_the_name(
    wide, deliver, result_file, post_whole
):
    stranger = WorkerOf(wide, "ada")
    assert post_whole(stranger, stranger.lease(), result_file(999)).status_code == 200
    deliver("ada", 1)
    assert rows(wide) == [("ada", 1, 64, 1.0)]


def test_another_run_s_work_is_another_run_s(wide, deliver, run):
    deliver("ada", 1)
    assert rows(run) == []


@pytest.mark.parametrize(
    ("sort", "names"),
    [
        ("-tasks", ["ada", "bob", "cem"]),
        ("tasks", ["bob", "cem", "ada"]),
        ("name", ["ada", "bob", "cem"]),
        ("-name", ["cem", "bob", "ada"]),
        ("-tokens", ["ada", "cem", "bob"]),
        ("-share", ["ada", "cem", "bob"]),
        ("pk); drop", ["ada", "bob", "cem"]),
    ],
)
def test_it_is_sorted_as_asked(wide, deliver, sort, names):
    deliver("ada", 2)
    deliver("bob", 1, bad=1, tokens="32")
    deliver("cem", 1, tokens="60")
    assert [row[0] for row in rows(wide, sort)] == names


# The page


def page(client, query: str = "", **headers: str) -> str:
    answer = client.get(f"/c/wide/siralama{query}", headers=headers)
    assert answer.status_code == 200
    return answer.content.decode()


def table(html: str) -> list[list[str]]:
    lines = re.findall(r"<tr>(.*?)</tr>", html, re.S)
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", line, re.S) for line in lines]
    return [[re.sub(r"<[^>]+>", "", cell) for cell in line] for line in cells]


def test_the_page_has_a_table_whose_columns_are_links(client, wide, deliver):
    deliver("ada", 2)
    deliver("bob", 1, bad=2)
    html = page(client)
    assert table(html) == [
        ["Pseudonym", "Tasks", "Tokens", "Accepted share"],
        ["ada", "2", "128", "100%"],
        ["bob", "1", "64", "33%"],
    ]
    assert '<th scope="col" class="number" aria-sort="descending"><a href="?sort=tasks">' in html
    assert html.count("aria-sort") == 1 and '<a href="?sort=name">' in html
    turned = page(client, "?sort=tasks")
    assert [line[0] for line in table(turned)[1:]] == ["bob", "ada"]
    assert 'aria-sort="ascending"><a href="?sort=-tasks">' in turned


@pytest.mark.parametrize(("share", "shown"), [(0.29, "29%"), (0.999, "99%"), (1.0, "100%")])
def test_only_all_is_a_hundred_percent(share, shown):
    with translation.override("en"):
        assert percent(share) == shown


def test_it_speaks_turkish(client, wide, deliver):
    deliver("ada", 1)
    with translation.override(None):
        html = page(client, **{"Accept-Language": "tr"})
    assert "Sıralama" in html and "%100" in html


def test_it_is_linked_from_the_run_and_says_so_when_empty(client, wide):
    assert '/c/wide/siralama"' in client.get("/c/wide/").content.decode()
    assert "Nobody is here yet" in page(client)
    assert client.get("/c/nosuchrun/siralama").status_code == 404


def test_it_has_pages_that_keep_the_order(client, wide, deliver, monkeypatch):
    monkeypatch.setattr("coordination.pages.leaderboard.WORKERS_PER_PAGE", 2)
    for name in ("ada", "bob", "cem"):
        deliver(name, 1)
    first = page(client, "?sort=-name")
    assert 'rel="next" href="?sort=-name&amp;page=2"' in first
    assert [line[0] for line in table(page(client, "?sort=-name&page=2"))[1:]] == ["ada"]


def test_its_queries_do_not_grow_with_the_workers(client, wide, deliver, django_assert_num_queries):
    for workers in (1, 4):
        for n in range(workers):
            deliver(f"ada-{workers}-{n}", 1)
        with django_assert_num_queries(3):  # the run, how many, and those of this page
            page(client)


def test_a_closed_run_says_so_on_its_page(client, tmp_path):
    make_run(tmp_path, "shut", open_to_all=False)
    html = client.get("/c/shut/").content.decode()
    assert "waits until an admin of the run has approved it" in html
    assert "volunteers whom its admins approve" in html
