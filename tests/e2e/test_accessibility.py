"""What axe says of every page that the URLconf has, in both languages, light and dark."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.conf import global_settings, settings
from django.core.cache import cache
from django.db import connection
from django.test import Client
from playwright.sync_api import Browser, Page

from accounts.models import User
from tests.accounts.people import PASSWORD
from tests.e2e.site import Site
from tests.world import World, build_world, pages

# The browser's driver keeps an event loop in this thread, where Django would refuse its ORM.
os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "true")

pytestmark = [pytest.mark.needs("chromium"), pytest.mark.django_db(transaction=True)]

LOOKS = [(locale, scheme) for locale in ("en-GB", "tr-TR") for scheme in ("light", "dark")]
# Django's table of a run's rounds has a first and a last column without a name, in a template
# without blocks.
NAMELESS_HEADINGS = [".inline-group th.original", ".inline-group th:last-child"]
PARTS = {"portal:directory-part", "portal:coordinator-part"}


@pytest.fixture
def site(django_db_setup: None, tmp_path: Path, own_state_folder: Path) -> Iterator[Site]:
    """The site over the tests' own database and files; it takes sessions that tests make."""
    variables = {
        "MODELEN_VAR": str(own_state_folder),
        "DATABASE_URL": f"sqlite:///{connection.settings_dict['NAME']}",
        "DJANGO_SETTINGS_MODULE": "modelen_site.settings",
        "MODELEN_DEBUG": "1",
        "MODELEN_SECRET_KEY": settings.SECRET_KEY,
        "MODELEN_STAFF_SECOND_FACTOR": "0",
        "MODELEN_GITLAB_CLIENT_ID": "client",
        "MODELEN_GITLAB_SECRET": "secret",
    }
    with Site(tmp_path / "site", None, **variables) as site:
        site.start()
        yield site


@pytest.fixture
def world(settings: Any, tmp_path: Path) -> World:
    settings.PASSWORD_HASHERS = global_settings.PASSWORD_HASHERS
    cache.clear()
    return build_world(tmp_path)


def visitor(user: User | None) -> Client:
    """Somebody who has just signed in and confirmed who they are; or nobody."""
    client = Client()
    if user:
        client.force_login(user)
        client.post("/accounts/reauthenticate/", {"password": PASSWORD})
    return client


def shown_to(client: Client, world: World) -> Iterator[str]:
    """Paths of the pages that this visitor gets."""
    for name, path in pages(world).items():
        answer = client.get(path)
        html = answer.get("Content-Type", "").startswith("text/html")
        if answer.status_code == 200 and html and name not in PARTS:
            yield path


def open_as(client: Client, site: Site, browser: Browser, **look: Any) -> Page:
    """A window of the visitor's browser."""
    context = browser.new_context(base_url=site.url, bypass_csp=True, **look)
    if session := client.cookies.get("sessionid"):
        context.add_cookies([{"name": "sessionid", "value": session.value, "url": site.url}])
    context.set_default_timeout(20_000)
    return context.new_page()


@pytest.mark.parametrize(("locale", "scheme"), LOOKS)
@pytest.mark.parametrize("who", ["nobody", "operator", "staff"])
def test_axe_finds_nothing(
    who: str, locale: str, scheme: str, world: World, site: Site, browser: Browser
) -> None:
    user = {"nobody": None, "operator": world.operator, "staff": world.staff}[who]
    client = visitor(user)
    before = set(shown_to(visitor(None), world)) if user else set()
    page = open_as(client, site, browser, locale=locale, color_scheme=scheme)
    axe, found = Axe(), {}
    for path in shown_to(client, world):
        # What everybody sees was looked at as nobody; the panel is the operator's.
        if path in before or (who == "staff" and not path.startswith("/admin/")):
            continue
        # Runs' tables are made by the same templates as the portal's: one look is enough.
        if (locale, scheme) != LOOKS[0] and path.startswith("/admin/coordination/"):
            continue
        page.goto(path)
        page.wait_for_load_state()
        said = axe.run(page, {"exclude": NAMELESS_HEADINGS}, {"resultTypes": ["violations"]})
        if said.violations_count:
            found[path] = [
                f"{rule['id']}: {node['html'][:160]}"
                for rule in said.response["violations"]
                for node in rule["nodes"][:3]
            ]
    page.context.close()
    assert found == {}
