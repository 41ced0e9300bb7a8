"""Every page of the site, in both languages: a strict policy, and nothing that it would stop."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client

from accounts.models import User
from portal.models import Coordinator
from tests.accounts.people import PASSWORD
from tests.inline import Inline
from tests.world import World, build_world, pages

POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self' data:",
    "font-src": "'self'",
    "connect-src": "'self'",
    "form-action": "'self'",
    "frame-ancestors": "'none'",
    "base-uri": "'none'",
}
# Ours that answer with something else than a page: files, and what only a form leads to.
NO_PAGES = {
    "accounts:account", "accounts:download", "portal:badge", "portal:coordinator-feed",
    "portal:directory-part",
    "portal:feed", "portal:panel-check", "portal:panel-submit", "portal:shields", "portal:status",
}  # fmt: skip
ALSO = ("Permissions-Policy", "Referrer-Policy", "X-Content-Type-Options", "X-Frame-Options")
LANGUAGE = re.compile(r'<html[^>]* lang="(\w+)"')


@pytest.fixture
def world(db: None, tmp_path: Path) -> World:
    cache.clear()
    return build_world(tmp_path)


def visitors(world: World) -> Iterator[Client]:
    """Nobody, an operator and staff, the latter two with their second factor shown."""
    yield Client()
    for user in (world.operator, world.staff):
        yield signed_in(user)


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    client.post("/accounts/reauthenticate/", {"password": PASSWORD})
    return client


def complaints(answer: Any) -> list[str]:
    """What is wrong with a page; nothing if it is none."""
    if not answer.get("Content-Type", "").startswith("text/html") or not answer.content:
        return []
    directives = (part.strip().partition(" ") for part in answer[HEADER].split(";"))
    policy = {name: value for name, _space, value in directives}
    inline = Inline()
    inline.feed(answer.content.decode())
    wrong = [] if policy == POLICY else [f"policy {policy}"]
    wrong += [f"no {name}" for name in ALSO if name not in answer]
    language = LANGUAGE.search(answer.content.decode())
    if language and language[1] != "tr":
        wrong.append(f"in the language {language[1]}")
    return wrong + inline.found


HEADER = "Content-Security-Policy"


def test_no_page_needs_more_than_the_policy_allows(world: World) -> None:
    """Whatever anybody gets at an address, refusals included."""
    wrong, seen = {}, set()
    for client in visitors(world):
        for name, path in pages(world).items():
            cache.clear()
            answer = client.get(path, headers={"Accept-Language": "tr"})
            if found := complaints(answer):
                wrong[f"{name} {answer.status_code}"] = found
            if answer.status_code == 200 and "html" in answer.get("Content-Type", ""):
                seen.add(name)
    assert wrong == {}
    ours = {name for name in pages(world) if name.startswith(("accounts:", "portal:"))}
    assert ours - seen == NO_PAGES
    assert {"home", "coordination:run", "apiv1:docs", "admin:portal_coordinator_change"} <= seen


def test_nor_does_what_a_form_leads_to(world: World) -> None:
    operator, staff = signed_in(world.operator), signed_in(world.staff)
    key = {"name": "beat", "scopes": ["heartbeat:write"], "days": 30}
    decide = {"action": "suspend", "_selected_action": [str(Coordinator.objects.first().pk)]}
    for client, path, form, text in (
        (operator, "/panel/keys/new/", key, "mdl_"),
        (operator, "/panel/keys/new/", key | {"days": 400}, "365"),
        (operator, "/panel/new/", {"slug": "no slug"}, "errorlist"),
        (operator, "/accounts/delete/", {"email": "x@example.org"}, "errorlist"),
        (staff, "/admin/portal/coordinator/", decide, 'name="message"'),
        (staff, f"/admin/accounts/user/{world.operator.pk}/delete/", {}, 'name="post"'),
        (staff, "/admin/accounts/user/add/", {"email": "x"}, "errorlist"),
        (operator, "/accounts/delete/", {"email": world.operator.email}, "silindi"),
    ):
        answer = client.post(path, form, headers={"Accept-Language": "tr"})
        assert complaints(answer) == [] and text in answer.content.decode(), path


def test_refusals_have_the_site_s_own_pages(world: World) -> None:
    turkish = {"Accept-Language": "tr"}
    strict = Client(enforce_csrf_checks=True)
    forged = strict.post("/accounts/login/", {"login": "a@example.org"}, headers=turkish)
    assert forged.status_code == 403 and "bu siteden gelmedi" in forged.content.decode()
    nobody_s = signed_in(world.operator).get("/admin/login/", headers=turkish)
    assert nobody_s.status_code == 403 and "yetkiniz yok" in nobody_s.content.decode()
    for _ in range(21):
        form = {"email": "x@example.org", "password1": "short"}
        often = Client().post("/accounts/signup/", form, headers=turkish)
    assert often.status_code == 429 and "Çok sık" in often.content.decode()
    missing = Client().get("/nowhere", headers=turkish)
    assert [complaints(page) for page in (forged, nobody_s, often, missing)] == [[]] * 4
