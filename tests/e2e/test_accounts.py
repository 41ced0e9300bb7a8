"""Sign-up, second factors and a person's own pages, in a real browser."""

import re
from collections.abc import Iterator

import pytest
from django.db import connection
from playwright.sync_api import expect

from accounts.models import User
from tests.accounts.people import PASSWORD, code
from tests.e2e.browsing import NARROW, Visit, confirm, demand_no_sideways, look, sign_in
from tests.modelen_site.processes import ServerProcess, serving

pytestmark = [pytest.mark.needs("chromium"), pytest.mark.django_db(transaction=True)]


@pytest.fixture(scope="module")
def server(
    django_db_setup: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServerProcess]:
    """The site over the tests' own database; it prints its mail."""
    environment = {
        "DJANGO_SETTINGS_MODULE": "modelen_site.settings",
        "DATABASE_URL": f"sqlite:///{connection.settings_dict['NAME']}",
        "MODELEN_VAR": str(tmp_path_factory.mktemp("state")),
        "MODELEN_DEBUG": "1",
    }
    with serving("manage.py", "serve", "--port", "0", **environment) as process:
        yield process


@pytest.fixture
def root(server: ServerProcess) -> str:
    """By the name of this computer, since security keys want a name."""
    return server.url.replace("127.0.0.1", "localhost") + "/accounts/"


def printed_link(server: ServerProcess) -> str:
    """The next link in what the server prints."""
    assert server.process.stdout is not None
    for line in server.process.stdout:
        if found := re.search(r"/accounts/confirm-email/\S+", line):
            return found[0]
    raise AssertionError("the server ended without a mail")


def test_signing_up_with_the_printed_mail(visit: Visit, server: ServerProcess) -> None:
    page = visit("signup/")
    page.get_by_label("Email").fill("new@example.org")
    page.get_by_label(re.compile(r"^Password")).fill(PASSWORD)
    page.get_by_role("button", name="Sign Up").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Verify Your Email Address")
    page.goto(printed_link(server))
    page.get_by_role("button", name="Confirm").click()
    page.wait_for_url(lambda url: "/confirm-email/" not in url)
    page.goto("settings/")
    if "/login/" in page.url:
        sign_in(page, "new@example.org")
    expect(page.get_by_role("heading", level=1)).to_have_text("Settings")


def test_the_administration_after_an_authenticator_application(visit: Visit, admin: User) -> None:
    page = visit("../admin/")
    sign_in(page, admin.email)
    expect(page.get_by_text("asks for a second factor")).to_be_visible()
    page.get_by_role("link", name="Activate").click()
    confirm(page)
    secret = page.get_by_label("Authenticator secret").input_value()
    page.get_by_label("Authenticator code").fill(code(secret))
    page.get_by_role("button", name="Activate").click()
    expect(page.get_by_label("Unused codes")).to_be_visible()
    page.goto("../admin/")
    page.locator("main [name=code]").fill(code(secret))
    page.get_by_role("button", name="Confirm").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Site administration")


def test_a_passkey_is_added_and_signs_in(visit: Visit, admin: User) -> None:
    page = visit("2fa/webauthn/add/")
    devtools = page.context.new_cdp_session(page)
    devtools.send("WebAuthn.enable")
    options = {
        "protocol": "ctap2",
        "transport": "internal",
        "hasResidentKey": True,
        "hasUserVerification": True,
        "isUserVerified": True,
    }
    devtools.send("WebAuthn.addVirtualAuthenticator", {"options": options})
    sign_in(page, admin.email)
    confirm(page)
    page.get_by_label("Passwordless").check()
    page.locator("main").get_by_role("button", name="Add").click()
    expect(page.get_by_label("Unused codes")).to_be_visible()
    page.goto("2fa/webauthn/")
    expect(page.get_by_role("table")).to_contain_text("Passkey")
    page.get_by_role("button", name="Sign out").click()
    page.goto("login/?next=/accounts/settings/")
    page.get_by_role("button", name="Sign in with a passkey").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Settings")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_where_a_second_factor_is_set_up(
    visit: Visit, admin: User, scheme: str
) -> None:
    """Pages that exist before there is one; all others are in test_accessibility."""
    page = visit("2fa/totp/activate/", color_scheme=scheme, bypass_csp=True)
    sign_in(page, admin.email)
    look(page)
    confirm(page)
    for path in ("2fa/", "2fa/totp/activate/", "2fa/webauthn/add/"):
        look(page, path)


def test_nothing_scrolls_sideways_on_a_small_phone(visit: Visit, admin: User) -> None:
    page = visit("settings/", viewport=NARROW)
    sign_in(page, admin.email)
    for path in ("settings/", "2fa/", "sessions/", "delete/"):
        demand_no_sideways(page, path)
