"""Everything that changes something, tried by its owner, another operator, nobody, and staff.

The addresses come from the URLconf: one that takes more than GET has to be in a table here.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from django.core.cache import cache
from django.test import Client
from django.views.generic import RedirectView

from accounts.addresses import verify_address
from accounts.create_admin import create_admin
from accounts.keys.create import create_key
from accounts.models import ApiKey, User
from portal.models import Attempt, Coordinator
from tests.accounts.people import PASSWORD
from tests.apiv1.test_access import ON_ALL, ON_ONE
from tests.portal.making import begin_draft
from tests.routes import Route, all_routes

pytestmark = pytest.mark.django_db

ROUTES = all_routes()
UNSAFE = {"POST", "PUT", "PATCH", "DELETE"}
PEOPLE = ("owner", "stranger", "anonymous", "staff")
LISTING = {
    "name": "Taken over", "slug": "demo", "mode": "cpt",
    "address": "https://demo.example.org/c/demo",
}  # fmt: skip
KEY = {"name": "beat", "scopes": ["heartbeat:write"], "days": 30}


@dataclass(frozen=True)
class Change:
    """What its owner sends to change something of theirs."""

    body: dict[str, Any] = field(default_factory=dict)


CHANGES = {
    "portal:panel-new": Change(LISTING | {"slug": "new", "address": "https://new.example.org"}),
    "portal:panel-edit": Change(LISTING),
    "portal:panel-submit": Change(),
    "portal:panel-withdraw": Change(),
    "portal:panel-check": Change(),
    "portal:panel-key-new": Change(KEY),
    "portal:panel-key-rotate": Change({"overlap_hours": 0}),
    "portal:panel-key-revoke": Change(),
    "accounts:settings": Change({"name": "Renamed", "language": "tr"}),
    "accounts:delete": Change({"email": "owner@example.org"}),
    "set_language": Change({"language": "tr"}),
    "account_email": Change({"action_add": "", "email": "moved@example.org"}),
    "account_change_password": Change(
        {"oldpassword": PASSWORD, "password1": "quite another 1", "password2": "quite another 1"}
    ),
    "mfa_deactivate_totp": Change(),
    "mfa_generate_recovery_codes": Change(),
    "mfa_edit_webauthn": Change({"name": "Renamed"}),
    "mfa_remove_webauthn": Change(),
}

_SESSION = "changes the caller's own session alone"
_BY_MAIL = "acts for whoever holds the mailed link or code"
_ANONYMOUS = "for people without an account or a session; limited by address"
_OWN = "acts on the caller alone, with a proof made in the browser: tests/e2e/test_accounts.py"
_SHOWS = "shows only, whatever the method"
NO_CHANGE_OF_OTHERS = {
    "account_login": _ANONYMOUS,
    "account_signup": _ANONYMOUS,
    "account_reset_password": _ANONYMOUS,
    "mfa_authenticate": _ANONYMOUS,
    "mfa_login_webauthn": _ANONYMOUS,
    "socialaccount_signup": _ANONYMOUS,
    "account_confirm_email": _BY_MAIL,
    "account_reset_password_from_key": _BY_MAIL,
    "account_confirm_login_code": _BY_MAIL,
    "account_confirm_reauthentication_code": _BY_MAIL,
    "account_request_reauthentication_code": _SESSION,
    "account_reauthenticate": _SESSION,
    "mfa_reauthenticate": _SESSION,
    "mfa_reauthenticate_webauthn": _SESSION,
    "account_logout": _SESSION,
    "usersessions_list": "ends the caller's own sessions",
    "account_set_password": "for a caller without a password",
    "mfa_activate_totp": _OWN,
    "mfa_add_webauthn": _OWN,
    "socialaccount_connections": "the caller's own: tests/e2e/test_social.py",
    "mfa_download_recovery_codes": _SHOWS,
    "mfa_view_recovery_codes": _SHOWS,
    "portal:feed": _SHOWS,
    "portal:coordinator-feed": _SHOWS,
}


@pytest.fixture(autouse=True)
def nothing_counted_yet() -> None:
    cache.clear()


@pytest.fixture
def owner(db: None) -> User:
    user = User.objects.create_user("owner@example.org", PASSWORD)
    verify_address(user)
    return user


@pytest.fixture
def values(owner: User) -> dict[str, Any]:
    """What the owner has, by the names of parameters."""
    coordinator = begin_draft(owner)
    key, _secret = create_key(owner, "that one", ["keys:write"], coordinator, 30)
    return {"slug": coordinator.slug, "key_id": key.key_id, "pk": 0}


def add_second_factors(owner: User) -> int:
    """Returns the id of the security key."""
    factors = Authenticator.objects
    factors.create(user=owner, type=Authenticator.Type.TOTP, data={"secret": "x"})
    data = {"name": "key", "credential": {}}
    return factors.create(user=owner, type=Authenticator.Type.WEBAUTHN, data=data).pk


@pytest.fixture
def come_as(owner: User) -> Callable[[str], Client]:
    """A browser in which this person has just signed in and confirmed who they are."""

    def come(who: str) -> Client:
        client = Client()
        if who == "anonymous":
            return client
        user = owner if who == "owner" else _newcomer(who)
        client.force_login(user)
        client.post("/accounts/reauthenticate/", {"password": PASSWORD})
        return client

    return come


def _newcomer(who: str) -> User:
    make = create_admin if who == "staff" else User.objects.create_user
    user = make(f"{who}@example.org", PASSWORD)
    verify_address(user)
    return user


def possessions(owner: User) -> list[list[dict[str, Any]]]:
    """Every row that is the owner's, without what a mere visit changes."""
    rows = (
        User.objects.filter(pk=owner.pk),
        EmailAddress.objects.filter(user=owner),
        Authenticator.objects.filter(user=owner),
        ApiKey.objects.filter(owner=owner),
        Coordinator.objects.filter(operator=owner),
        Attempt.objects.filter(coordinator__operator=owner),
    )
    visits = {"last_login", "last_used_at"}
    return [
        [
            {name: value for name, value in row.items() if name not in visits}
            for row in found.order_by("pk").values()
        ]
        for found in rows
    ]


@pytest.mark.parametrize("who", PEOPLE)
@pytest.mark.parametrize("name", CHANGES)
def test_only_its_owner_changes_it(
    name: str, who: str, owner: User, values: dict[str, Any], come_as: Callable[[str], Client]
) -> None:
    if name.startswith("mfa_"):
        values["pk"] = add_second_factors(owner)
    route, client = ROUTES[name], come_as(who)
    before = possessions(owner)
    answer = client.post(route.path(**values), CHANGES[name].body)
    assert (possessions(owner) != before) == (who == "owner")
    if name == "set_language":
        return
    if who == "anonymous":
        assert answer.status_code == 302 and "/accounts/login/" in answer["Location"]
    elif who != "owner" and route.parameters:
        assert answer.status_code == 404


def test_whatever_else_takes_more_than_get_says_why_it_is_not_here(
    owner: User, values: dict[str, Any], come_as: Callable[[str], Client]
) -> None:
    client, before, unsaid = come_as("owner"), possessions(owner), []
    for name, route in ROUTES.items():
        if name in CHANGES or name in NO_CHANGE_OF_OTHERS or _has_tests_of_its_own(route):
            continue
        if getattr(route.view, "view_class", None) is RedirectView:
            continue
        if client.post(route.path(**values)).status_code != 405:
            unsaid.append(name)
    assert unsaid == [], f"they are in no table of {__name__}"
    assert possessions(owner) == before


def test_the_tables_name_what_there_is() -> None:
    assert (CHANGES.keys() | NO_CHANGE_OF_OTHERS.keys()) - ROUTES.keys() == set()


def _has_tests_of_its_own(route: Route) -> bool:
    """The administration and the API below; workers' addresses in tests/coordination/protocol."""
    return route.name.startswith(("admin:", "apiv1:", "coordination:")) or route.route.startswith(
        ("admin/", "c/")
    )


def test_every_operation_of_the_api_is_tried_by_all() -> None:
    """By tests/apiv1/test_access.py: here, that its table has all that the URLconf has."""
    tried = {(call.method, _shape(call.path)) for call in (*ON_ONE, *ON_ALL)}
    offered = {
        (method.upper(), _shape(route.route.removeprefix("api/v1/")))
        for route in ROUTES.values()
        if route.name.startswith("apiv1:") and inspect.isclass(getattr(route.view, "cls", None))
        for method in route.view.cls.http_method_names
        if method.upper() in UNSAFE and hasattr(route.view.cls, method)
    }
    assert {found for found in tried if found[0] in UNSAFE} == offered != set()


def _shape(path: str) -> str:
    """The path with its parameters unnamed."""
    parts = (("{}" if part[:1] in "{<" else part) for part in path.split("/"))
    return "/".join(parts)


@pytest.mark.parametrize("who", ["owner", "stranger", "anonymous", "staff without rights"])
def test_the_administration_lets_nobody_else_change_anything(
    who: str, owner: User, values: dict[str, Any], come_as: Callable[[str], Client]
) -> None:
    client = come_as(who.partition(" ")[0])
    if who.startswith("staff"):
        User.objects.filter(email="staff@example.org").update(is_superuser=False)
    before, users = possessions(owner), User.objects.count()
    for route in ROUTES.values():
        if not route.name.startswith("admin:") or "(?P" in route.route:
            continue
        path = route.path(object_id=str(owner.pk), id=str(owner.pk))
        answer = client.post(path, {"post": "yes", "email": "x@example.org"})
        if who.startswith("staff"):
            assert answer.status_code != 200 or route.name in HARMLESS, route.name
        else:
            assert answer.status_code in (302, 403), route.name
        if route.name == "admin:logout" and answer.status_code == 200:
            client = come_again(client)
    assert possessions(owner) == before and User.objects.count() == users


# Without any right, staff see these and can change nothing by them but their own session.
HARMLESS = {
    "admin:index", "admin:login", "admin:logout", "admin:jsi18n", "admin:password_change",
    "admin:password_change_done",
}  # fmt: skip


def come_again(client: Client) -> Client:
    client.force_login(User.objects.get(email="staff@example.org"))
    return client
