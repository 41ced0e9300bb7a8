"""An operator's way into the directory, in a real browser, past a real server and a host of theirs;
and what axe says of every page on it."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from django.db import connection
from playwright.sync_api import Page, expect

from accounts.addresses import verify_address
from accounts.models import User
from portal.listings.decide import request_changes
from portal.models import Coordinator
from portal.verification.codes import Code
from tests.accounts.people import PASSWORD
from tests.e2e.browsing import (
    NARROW,
    Visit,
    confirm,
    demand_no_sideways,
    look,
    press,
    sign_in,
)
from tests.e2e.site import Program, Site
from tests.world import make_shown, make_submitted

pytestmark = [pytest.mark.needs("chromium"), pytest.mark.django_db(transaction=True)]

# Silence of five intervals is offline; two are the least that a busy machine always keeps.
HEARTBEAT_S = 2
PROOF = "/.well-known/modelen-verification.txt"
LISTING = {
    "name": "Köşe yazıları",
    "slug": "kose",
    "description": "Turkish for a small model.",
    "base_model": "Qwen/Qwen3-0.6B",
    "languages": "tr,en",
    "data_source": "Newspaper columns",
    "data_licence": "CC BY-SA 4.0",
    "contact": "team@example.org",
}
STATE = (
    b'{"durum": "acik", "tur": 3, "tur_sayisi": 8, "isci_sayisi": 4, "gecmis": [{"kayip": 2.5}]}'
)


@pytest.fixture(scope="module")
def site(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The site over the tests' own database; operators may have a host on this computer."""
    variables = {
        "DATABASE_URL": f"sqlite:///{connection.settings_dict['NAME']}",
        "DJANGO_SETTINGS_MODULE": "modelen_site.settings",
        "MODELEN_DEBUG": "1",
        "MODELEN_TRUST_LOOPBACK": "1",
        "MODELEN_STAFF_SECOND_FACTOR": "0",
        "MODELEN_HEARTBEAT_SECONDS": str(HEARTBEAT_S),
    }
    with Site(tmp_path_factory.mktemp("site"), None, **variables) as site:
        site.start()
        yield site


@pytest.fixture
def root(site: Site) -> str:
    return site.url


@contextmanager
def operators_host(files: dict[str, bytes]) -> Iterator[str]:
    """A web server of the operator's own, showing ``files`` by path; gives its root."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = files.get(self.path)
            self.send_response(404 if body is None else 200)
            self.send_header("Content-Length", str(len(body or b"")))
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()


def sign_up(page: Page, site: Site, email: str) -> None:
    """With the mail that the server prints."""
    page.get_by_label("Email").fill(email)
    page.get_by_label(re.compile(r"^Password")).fill(PASSWORD)
    press(page, "Sign Up")
    expect(page.get_by_role("heading", level=1)).to_have_text("Verify Your Email Address")
    assert site.server is not None
    lines = site.server.lines
    site.server.wait_until(lambda: "/accounts/confirm-email/" in "".join(lines))
    page.goto(re.findall(r"/accounts/confirm-email/\S+", "".join(lines))[-1])
    press(page, "Confirm")
    page.wait_for_url(lambda url: "/confirm-email/" not in url)


def apply(page: Page, address: str) -> None:
    """First a draft, then handed in."""
    page.goto("/panel/")
    if "/login/" in page.url:
        sign_in(page, "operator@example.org")
    page.get_by_role("link", name="Apply with a coordinator").click()
    for name, value in (LISTING | {"address": address}).items():
        page.locator(f"main [name={name}]").fill(value)
    press(page, "Save")
    expect(page.locator("main")).to_contain_text("Draft", ignore_case=True)
    press(page, "Submit")
    expect(page.locator("main")).to_contain_text("Prove that the address is yours")


def check_now(page: Page, verdict: str) -> None:
    """Press the button, and look again until the newest attempt's ``verdict`` is there."""
    page.goto(f"/panel/coordinators/{LISTING['slug']}/verification/")
    press(page, "Check now")
    expect(page.get_by_text("We are looking.")).to_be_visible()
    for _attempt in range(60):
        if page.get_by_text("A check is under way").count() == 0:
            break
        page.wait_for_timeout(500)
        page.reload()
    expect(page.locator("article").first).to_contain_text(verdict)


def approve(page: Page, admin: User) -> None:
    sign_in(page, admin.email)
    page.get_by_role("link", name=LISTING["name"]).click()
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_role("heading", name="Approve")).to_be_visible()
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_text(re.compile(f"{LISTING['name']}.*: Approved", re.I))).to_be_visible()


def make_key(page: Page) -> str:
    page.goto("/panel/keys/new/")
    confirm(page)
    page.get_by_label("Name").fill("sender")
    page.get_by_label("Works for").select_option(LISTING["slug"])
    press(page, "Create the key")
    secret = page.locator("code.secret").inner_text()
    page.get_by_role("link", name="I have copied it").click()
    expect(page.get_by_role("heading", name="sender")).to_be_visible()
    assert secret not in page.content(), "a key is shown once"
    return secret


@contextmanager
def sending(site: Site, address: str, secret: str) -> Iterator[None]:
    """The client that anybody can copy sends heartbeats until the block ends."""
    variables = {"MODELEN_PORTAL": site.url, "MODELEN_PORTAL_KEY": secret}
    command = ["examples/portal_client.py", "heartbeat", LISTING["slug"], "--address", address]
    program = Program(command, site.environment | variables)
    try:
        program.wait_until(lambda: any("sent" in line for line in program.lines))
        yield
    finally:
        program.kill()


def mailed(site: Site, words: str) -> None:
    """The server comes to print a mail with these words, and prints no second one."""
    assert site.server is not None
    lines = site.server.lines
    site.server.wait_until(lambda: words in "".join(lines))
    assert "".join(lines).count(words) == 1


def shown_as(page: Page, presence: str) -> None:
    """The open page comes to show it by itself."""
    pill = page.locator(":is([data-refresh], [data-now]) .pill[data-presence]")
    expect(pill).to_have_attribute("data-presence", presence, timeout=60_000)


def test_the_story_of_a_coordinator(visit: Visit, site: Site, admin: User) -> None:
    slug = LISTING["slug"]
    files = {f"/c/{slug}/durum": STATE}
    with operators_host(files) as root:
        page = visit("/accounts/signup/")
        sign_up(page, site, "operator@example.org")
        apply(page, f"{root}/c/{slug}")

        check_now(page, str(Code.NOT_FOUND.label))
        expect(page.locator("article").first).to_contain_text("Put the file where")
        line = page.locator(".command code").first.inner_text()
        files[PROOF] = f"{line}\n".encode()
        check_now(page, str(Code.OK.label))

        approve(visit("/admin/portal/coordinator/"), admin)
        mailed(site, f"Your coordinator {LISTING['name']} ({root}/c/{slug}) has been approved.")
        secret = make_key(page)
        mailed(site, "mdl_" + secret[4:12])
        directory, own = visit("/coordinators/"), visit(f"/coordinators/{slug}/")
        expect(directory.get_by_role("link", name=LISTING["name"])).to_be_visible()
        shown_as(directory, "never")
        with sending(site, f"{root}/c/{slug}", secret):
            shown_as(own, "online")
            expect(own.locator(".figures")).to_contain_text("3 / 8")
            shown_as(directory, "online")
        shown_as(own, "offline")
        mailed(site, "the directory shows it as offline.")
        shown_as(directory, "offline")
        page.goto("/panel/")
        expect(page.locator("article")).to_contain_text("It is offline.")
        with sending(site, f"{root}/c/{slug}", secret):
            shown_as(own, "online")
            mailed(site, "the directory shows it as online.")
        assert site.server is not None
        assert secret not in "".join(site.server.lines), "neither log nor mail has the key"


@pytest.fixture
def listed(admin: User) -> Coordinator:
    """In the directory, with something to show in every part of its pages."""
    operator = User.objects.create_user("operator@example.org", PASSWORD)
    verify_address(operator)
    coordinator = make_shown(operator, admin)
    request_changes(make_submitted(operator, "other"), by=admin, message="Say more of the data.")
    make_submitted(operator, "third")
    return coordinator


PUBLIC = ("/", "/api/v1/docs", "/coordinators/", "/coordinators/?q=nobody", "/coordinators/demo/")
PANEL = (
    *("/panel/", "/panel/new/", "/panel/keys/", "/panel/coordinators/other/"),
    *("/coordinators/other/", "/accounts/settings/"),
    *(
        f"/panel/coordinators/demo/{part}"
        for part in ("", "edit/", "verification/", "heartbeats/", "history/", "withdraw/")
    ),
)
LIGHT_AND_DARK = pytest.mark.parametrize("scheme", ["light", "dark"])


@LIGHT_AND_DARK
def test_axe_finds_nothing_on_what_everybody_reads(
    visit: Visit, listed: Coordinator, scheme: str
) -> None:
    page = visit("/", bypass_csp=True, color_scheme=scheme)
    for path in PUBLIC:
        look(page, path)


@LIGHT_AND_DARK
def test_axe_finds_nothing_in_the_panel(visit: Visit, listed: Coordinator, scheme: str) -> None:
    page = visit("/accounts/login/?next=/panel/", bypass_csp=True, color_scheme=scheme)
    sign_in(page, "operator@example.org")
    for path in PANEL:
        look(page, path)
    page.goto("/panel/keys/new/")
    confirm(page)
    look(page)
    page.get_by_label("Name").fill("sender")
    press(page, "Create the key")
    expect(page.locator("code.secret")).to_be_visible()
    look(page)
    look(page, "/panel/keys/")
    page.get_by_role("link", name="Revoke").click()
    look(page)
    page.goto("/panel/keys/")
    page.get_by_role("link", name="Replace").click()
    look(page)


@LIGHT_AND_DARK
def test_axe_finds_nothing_in_the_queue(
    visit: Visit, admin: User, listed: Coordinator, scheme: str
) -> None:
    page = visit("/admin/portal/coordinator/", bypass_csp=True, color_scheme=scheme)
    sign_in(page, admin.email)
    look(page)
    page.get_by_role("link", name="Demo").click()
    look(page)
    page.goto("/admin/portal/coordinator/")
    page.get_by_role("link", name="Third").click()
    look(page)
    page.get_by_role("button", name="Reject").click()
    look(page)


@pytest.mark.parametrize("locale", ["en-GB", "tr-TR"])
def test_nothing_scrolls_sideways_on_a_small_phone(
    visit: Visit, listed: Coordinator, locale: str
) -> None:
    page = visit("/accounts/login/?next=/panel/", viewport=NARROW)
    sign_in(page, "operator@example.org")
    state = page.context.storage_state()
    page = visit("/", viewport=NARROW, locale=locale, storage_state=state)
    for path in (*PUBLIC, *PANEL):
        demand_no_sideways(page, path)
