"""The live page in a real browser, served by a real server process."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from playwright.sync_api import Page, expect

from coordination.models import RefusalCount, Run
from coordination.rounds.pause import pause_run
from tests.coordination.conftest import post_whole, result_file
from tests.coordination.live.test_snapshot import _publish
from tests.coordination.making import WorkerOf, make_run
from tests.e2e.browsing import NARROW, demand_no_sideways, look
from tests.modelen_site.processes import ServerProcess, serving

pytestmark = [pytest.mark.needs("chromium"), pytest.mark.django_db(transaction=True)]

__all__ = ["post_whole", "result_file"]  # fixtures


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that this process and the server share."""
    return tmp_path_factory.mktemp("state")


@pytest.fixture(scope="module")
def server(django_db_setup: None, state: Path) -> Iterator[ServerProcess]:
    """The site over the tests' own database."""
    environment = {
        "DJANGO_SETTINGS_MODULE": "modelen_site.settings",
        "DATABASE_URL": f"sqlite:///{connection.settings_dict['NAME']}",
        "MODELEN_VAR": str(state),
        "MODELEN_DEBUG": "1",
    }
    with serving("manage.py", "serve", "--port", "0", **environment) as process:
        yield process


@pytest.fixture
def run(state: Path, tmp_path: Path, settings: Any) -> Run:
    settings.DISK_RESERVE_BYTES = 0
    settings.BLOB_ROOT, settings.UPLOAD_ROOT = state / "blobs", state / "uploads"
    return make_run(tmp_path, name="A live run")


@pytest.fixture
def root(server: ServerProcess) -> str:
    return server.url


def bound(page: Page, path: str) -> Any:
    return page.locator(f'[data-bind="{path}"]').first


def test_what_a_verb_changes_shows_within_a_second(visit, run):
    page = visit(f"/c/{run.slug}/")
    expect(page.locator(".freshness")).to_contain_text("Live", timeout=60_000)
    expect(page.locator(".pill")).to_have_text(re.compile("Waiting for volunteers"))

    WorkerOf(run, "ada").lease()
    expect(bound(page, "units.leased")).to_have_text("1", timeout=1_000)
    expect(page.locator(".workers .who")).to_have_text("ada", timeout=1_000)
    expect(page.locator(".pill")).to_contain_text("Training")

    pause_run(run, "a look at the data")
    expect(page.get_by_text("a look at the data")).to_be_visible(timeout=1_000)
    expect(page.locator(".pill")).to_contain_text("Paused")


def test_a_published_round_draws_chart_and_row_as_the_server_would(
    visit, run, result_file, post_whole
):
    page = visit(f"/c/{run.slug}/")
    expect(page.locator(".freshness")).to_contain_text("Live", timeout=60_000)
    for name, seed in (("ada", 2), ("bob", 3)):
        worker = WorkerOf(run, name)
        post_whole(worker, worker.lease(), result_file(seed, kayip_son="2.5"))
    expect(page.locator("[aria-labelledby=rounds] tbody tr")).to_have_count(1, timeout=60_000)
    expect(page.locator("circle.point")).to_have_count(1)
    expect(page.locator("#chart-summary")).to_have_text(
        "From 2.5000 in round 1 to 2.5000 in round 1; lowest 2.5000."
    )
    drawn_live = _drawing(page)
    page.reload()
    page.wait_for_load_state("domcontentloaded")
    assert _drawing(page) == drawn_live


def _drawing(page: Page) -> list[str]:
    """Texts and geometry without what moves by itself."""
    shapes = page.locator(".plot").evaluate_all("els => els.map(el => el.outerHTML)")
    texts = page.locator("tbody, .trend p").all_text_contents()
    return [" ".join(drawn.split()).replace("> <", "><") for drawn in (*shapes, *texts)]


@pytest.mark.parametrize(("language", "size"), [("en-GB", "40.4 MB"), ("tr-TR", "40,4 MB")])
def test_script_and_server_write_every_value_alike(visit, run, language, size):
    _publish(run, range(1, 34))
    RefusalCount.objects.create(run=run, code="norm_asimi", count=1234)
    Run.objects.filter(pk=run.pk).update(bytes_up=40_422_136, rounds=12_345)
    texts = "els => els.map(el => el.textContent)"
    without = visit(f"/c/{run.slug}/", locale=language, java_script_enabled=False)
    said = "[data-bind], [data-message], .plot"
    from_server = without.locator(said).evaluate_all(texts)
    page = visit(f"/c/{run.slug}/", locale=language)
    expect(page.locator(".freshness")).to_have_attribute("data-connection", "live", timeout=60_000)
    told = page.locator(said).evaluate_all(texts)
    assert [text.split() for text in told] == [text.split() for text in from_server]
    assert size in from_server


def test_without_javascript_everything_is_there(visit, run):
    WorkerOf(run, "ada").lease()
    page = visit(f"/c/{run.slug}/", java_script_enabled=False)
    expect(page.get_by_role("heading", level=1)).to_have_text("A live run")
    expect(page.locator(".pill")).to_contain_text("Training")
    expect(page.locator(".workers .who")).to_have_text("ada")
    expect(page.get_by_role("link", name="Reload")).to_be_visible()
    expect(page.get_by_role("button", name="Copy").first).to_be_hidden()


def test_a_lost_connection_is_said_and_polling_takes_over(visit, run):
    page = visit("/")
    page.route_web_socket(re.compile("/ws/"), lambda socket: socket.close(code=1012))
    page.goto(f"/c/{run.slug}/")
    expect(page.locator(".freshness")).to_contain_text("Reconnecting", timeout=60_000)
    pause_run(run, "told by polling")
    expect(page.get_by_text("told by polling")).to_be_visible(timeout=15_000)


@pytest.mark.parametrize("path", ["/", "/c/tiny/"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_scrolls_sideways_on_a_small_phone(visit, run, path, scheme):
    page = visit(path, viewport=NARROW, color_scheme=scheme)
    demand_no_sideways(page)


def test_the_keyboard_reaches_everything_and_shows_where_it_is(visit, run):
    page = visit(f"/c/{run.slug}/")
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    expect(page.locator(".skip")).to_be_in_viewport()
    reached = set()
    for _ in range(40):
        name = page.evaluate("(document.activeElement.textContent || '').trim().slice(0, 20)")
        reached.add(name)
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        if page.evaluate("document.activeElement !== document.body"):
            assert outline != "none", f"no visible focus on {name!r}"
        page.keyboard.press("Tab")
    assert {"Skip to content", "Runs", "Türkçe", "bilgi", "durum", "Copy"} <= reached


def test_the_colour_choice_outlives_the_page(visit, run):
    page = visit("/", color_scheme="light")
    page.get_by_label("Colours").select_option("dark")
    background = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(background)
    page.goto(f"/c/{run.slug}/")
    assert page.evaluate(background) == dark == "rgb(18, 22, 21)"


def test_the_line_to_join_lands_on_the_clipboard(visit, run, server):
    page = visit(f"/c/{run.slug}/")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator(".command button").click()
    expect(page.locator(".command button")).to_have_text("Copied")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == f"python -m worker_client run {server.url}/c/{run.slug}"


def test_the_language_button_turns_the_page_turkish(visit, run):
    page = visit(f"/c/{run.slug}/")
    page.get_by_role("button", name="Türkçe").click()
    page.wait_for_url(re.compile(run.slug))
    expect(page.locator("html")).to_have_attribute("lang", "tr")


def test_accessibility_rules_of_axe_hold(visit, run):
    WorkerOf(run, "ada").lease()
    for scheme in ("light", "dark"):
        for path in ("/", f"/c/{run.slug}/"):
            page = visit(path, color_scheme=scheme, bypass_csp=True)
            look(page)
    _publish(run, range(1, 4))
    RefusalCount.objects.create(run=run, code="norm_asimi", count=1234)
    page = visit(f"/c/{run.slug}/", bypass_csp=True)
    page.get_by_text("Round by round").click()
    look(page)
