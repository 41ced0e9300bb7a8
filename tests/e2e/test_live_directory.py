"""The directory in a real browser: its cards stay as they are now, each in its place."""

import re
from collections.abc import Iterator

import pytest
from django.db import connection
from playwright.sync_api import Locator, Page, expect

from accounts.models import User
from portal.heartbeats.beat import Beat
from portal.heartbeats.receive import receive
from portal.listings.decide import suspend
from portal.models import Coordinator
from tests.e2e.browsing import Visit, look
from tests.e2e.site import Site
from tests.portal.making import make_listed

pytestmark = [pytest.mark.needs("chromium"), pytest.mark.django_db(transaction=True)]

PATIENCE_MS = 60_000
BUSY = Beat(1, "acik", round=1200, rounds=2400, workers=4, loss=2.5)


@pytest.fixture(scope="module")
def site(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The site over the tests' own database."""
    variables = {
        "DATABASE_URL": f"sqlite:///{connection.settings_dict['NAME']}",
        "DJANGO_SETTINGS_MODULE": "modelen_site.settings",
        "MODELEN_DEBUG": "1",
    }
    with Site(tmp_path_factory.mktemp("site"), None, **variables) as site:
        site.start()
        yield site


@pytest.fixture
def root(site: Site) -> str:
    return site.url


@pytest.fixture
def operator(db: None) -> User:
    return User.objects.create_user("operator@example.org")


@pytest.fixture
def two(operator: User, admin: User) -> list[Coordinator]:
    """The second is newer, so it comes first."""
    return [make_listed(operator, admin, slug) for slug in ("first", "second")]


def opened(visit: Visit, path: str = "/coordinators/", **options: object) -> Page:
    """With its socket open, which has told how things stand."""
    page = visit("/", **options)
    with page.expect_websocket() as waiting:
        page.goto(path)
    waiting.value.wait_for_event("framereceived", timeout=PATIENCE_MS)
    return page


def card(page: Page, slug: str) -> Locator:
    return page.locator(f"[data-slug={slug}]")


def slugs(page: Page) -> list[str | None]:
    return [one.get_attribute("data-slug") for one in page.locator("[data-slug]").all()]


def test_cards_change_in_place_by_the_socket_alone(visit: Visit, two: list[Coordinator]) -> None:
    page = opened(visit, "/coordinators/?sort=heard")
    order = slugs(page)
    page.route("**/coordinators/now*", lambda route: route.abort())
    receive(two[0], BUSY)
    first = card(page, "first")
    expect(first.locator(".pill")).to_have_attribute("data-presence", "online", timeout=PATIENCE_MS)
    expect(first.locator(".pill")).to_have_text("online")
    expect(first.locator(".progress-line")).to_contain_text("Round 1,200 / 2,400")
    expect(first.locator("progress")).to_have_js_property("position", 0.5)
    expect(first.locator(".facts")).to_contain_text("2.5000")
    assert slugs(page) == order, "nothing jumps"
    expect(card(page, "second").locator(".pill")).to_have_attribute("data-presence", "never")


@pytest.mark.parametrize("locale", ["en-GB", "tr-TR"])
def test_a_card_drawn_by_the_script_reads_as_the_servers(
    visit: Visit, two: list[Coordinator], locale: str
) -> None:
    page = opened(visit, locale=locale)
    receive(two[0], BUSY)
    pill = card(page, "first").locator(".pill")
    expect(pill).to_have_attribute("data-presence", "online", timeout=PATIENCE_MS)
    drawn = card(page, "first").inner_text()
    without = visit("/coordinators/", locale=locale, java_script_enabled=False)
    assert card(without, "first").inner_text() == drawn


def test_a_newcomer_is_announced_and_comes_when_asked_for(
    visit: Visit, two: list[Coordinator], operator: User, admin: User
) -> None:
    page = opened(visit, "/coordinators/?language=tr&sort=name", bypass_csp=True)
    other = opened(visit, "/coordinators/?language=de")
    top = card(page, "first").bounding_box()
    make_listed(operator, admin, "third")
    news = page.get_by_role("status").filter(has_text=re.compile("new coordinator"))
    expect(news).to_have_text("1 new coordinator – show", timeout=PATIENCE_MS)
    make_listed(operator, admin, "fourth")
    expect(news).to_have_text("2 new coordinators – show", timeout=PATIENCE_MS)
    assert slugs(page) == ["first", "second"] and card(page, "first").bounding_box() == top
    look(page)
    news.get_by_role("link").click()
    expect(card(page, "fourth")).to_be_visible()
    assert slugs(page) == ["fourth", "third", "second", "first"] and "language=tr" in page.url
    make_listed(operator, admin, "german", languages="de")
    expect(other.locator(".news")).to_have_text("1 new coordinator – show", timeout=PATIENCE_MS)


def test_who_leaves_is_marked_and_stays_in_place(
    visit: Visit, two: list[Coordinator], admin: User
) -> None:
    page = opened(visit, bypass_csp=True)
    suspend(two[1], by=admin, message="a complaint")
    gone = card(page, "second").get_by_text("no longer in the directory")
    expect(gone).to_be_visible(timeout=PATIENCE_MS)
    expect(card(page, "first").get_by_text("no longer in the directory")).to_be_hidden()
    look(page)


def test_without_a_socket_the_page_asks(visit: Visit, two: list[Coordinator]) -> None:
    page = visit("/")
    page.add_init_script("window.WebSocket = class { readyState = 3; }")
    page.goto("/coordinators/")
    receive(two[0], BUSY)
    pill = card(page, "first").locator(".pill")
    expect(pill).to_have_attribute("data-presence", "online", timeout=PATIENCE_MS)
