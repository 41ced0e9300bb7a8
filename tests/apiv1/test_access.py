"""Every address with every kind of caller."""

import json
from dataclasses import dataclass
from typing import Any

import pytest
from django.conf import settings
from django.utils import timezone

from accounts.keys.create import create_key
from accounts.keys.scopes import Scope
from accounts.models import ApiKey, User
from portal.models import Coordinator
from tests.apiv1.calling import ALL_SCOPES, anonymous, problem, with_key
from tests.portal.making import begin_draft, make_listed


@dataclass(frozen=True)
class Call:
    """One operation on what belongs to the operator; ``{...}`` is filled in."""

    method: str
    path: str
    scope: Scope
    status: int
    body: Any = None
    headers: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


ON_ONE = [
    Call("GET", "coordinators/{slug}", Scope.COORDINATORS_READ, 200),
    Call(
        "PATCH", "coordinators/{slug}", Scope.COORDINATORS_WRITE, 200, {"name": "New"},
        (("If-Match", "*"),),
    ),
    Call("POST", "coordinators/{slug}/submit", Scope.COORDINATORS_WRITE, 200),
    Call("POST", "coordinators/{slug}/withdraw", Scope.COORDINATORS_WRITE, 200),
    Call("GET", "coordinators/{slug}/verification", Scope.COORDINATORS_READ, 200),
    Call("POST", "coordinators/{slug}/verification/check", Scope.VERIFICATION_WRITE, 202),
    Call("GET", "coordinators/{slug}/verification/attempts", Scope.COORDINATORS_READ, 200),
    Call(
        "GET", "coordinators/{slug}/verification/attempts/{attempt_id}",
        Scope.COORDINATORS_READ, 200,
    ),
    Call(
        "PUT", "coordinators/{slug}/heartbeat", Scope.HEARTBEAT_WRITE, 200,
        {"seq": 1, "status": "acik"},
    ),
    Call("GET", "keys/{key_id}", Scope.KEYS_WRITE, 200),
    Call("DELETE", "keys/{key_id}", Scope.KEYS_WRITE, 204),
    Call("POST", "keys/{key_id}/rotate", Scope.KEYS_WRITE, 201, {}),
]  # fmt: skip
ON_ALL = [
    Call("GET", "me", Scope.PROFILE_READ, 200),
    Call("GET", "coordinators", Scope.COORDINATORS_READ, 200),
    Call(
        "POST", "coordinators", Scope.COORDINATORS_WRITE, 201,
        {"name": "New", "slug": "new", "address": "https://new.example.org/c/new"},
    ),
    Call("GET", "keys", Scope.KEYS_WRITE, 200),
    Call("POST", "keys", Scope.KEYS_WRITE, 201, {"name": "n", "scopes": ["keys:write"]}),
]  # fmt: skip
PUBLIC = ["directory", "directory/{slug}", "openapi.json", "docs"]
of_one = pytest.mark.parametrize("call", ON_ONE, ids=str)
of_any = pytest.mark.parametrize("call", ON_ONE + ON_ALL, ids=str)


@pytest.fixture
def places(draft: Coordinator, operator: User) -> dict[str, object]:
    key, _secret = create_key(operator, "that one", ["keys:write"], draft, 30)
    attempt = draft.attempts.create(
        trigger="owner",
        address=draft.address,
        queued_at=timezone.now(),
        finished_at=timezone.now(),
        code="ok",
    )
    return {"slug": draft.slug, "attempt_id": attempt.pk, "key_id": key.key_id}


def ask(caller: Any, call: Call, places: dict[str, object]) -> Any:
    return caller(call.method, call.path.format(**places), call.body, dict(call.headers))


@of_any
def test_owner_by_a_key_with_just_that_scope(
    call: Call, places: dict[str, object], operator: User
) -> None:
    response = ask(with_key(operator, [call.scope]), call, places)
    assert response.status_code == call.status, response.content
    assert response["Cache-Control"] == "no-store"


@of_any
def test_owner_by_a_key_with_every_other_scope(
    call: Call, places: dict[str, object], operator: User
) -> None:
    others = [scope for scope in ALL_SCOPES if scope != call.scope]
    body = problem(ask(with_key(operator, others), call, places), 403, "missing_scope")
    assert call.scope.value in body["detail"]


@of_any
def test_a_key_without_any_scope_may_do_nothing(
    call: Call, places: dict[str, object], operator: User
) -> None:
    caller = with_key(operator)
    ApiKey.objects.filter(name="test").update(scopes=[])
    problem(ask(caller, call, places), 403, "missing_scope")


@of_any
def test_nobody_is_asked_for_a_key(call: Call, places: dict[str, object]) -> None:
    response = ask(anonymous(), call, places)
    problem(response, 401, "not_authenticated")
    assert response["WWW-Authenticate"] == "Bearer"


@of_one
def test_to_another_operator_it_does_not_exist(
    call: Call, places: dict[str, object], stranger: User
) -> None:
    begin_draft(stranger, "theirs")
    problem(ask(with_key(stranger), call, places), 404, "not_found")


@of_one
def test_nor_is_it_the_staffs_here(call: Call, places: dict[str, object], admin: User) -> None:
    problem(ask(with_key(admin), call, places), 404, "not_found")


@of_one
def test_nor_is_it_a_key_s_that_is_bound_to_another(
    call: Call, places: dict[str, object], operator: User
) -> None:
    other = begin_draft(operator, "other")
    problem(ask(with_key(operator, coordinator=other), call, places), 404, "not_found")


@of_one
def test_a_key_bound_to_it_will_do(
    call: Call, places: dict[str, object], operator: User, draft: Coordinator
) -> None:
    response = ask(with_key(operator, coordinator=draft), call, places)
    assert response.status_code == call.status, response.content


def test_lists_are_of_ones_own(
    places: dict[str, object], operator: User, stranger: User, draft: Coordinator
) -> None:
    other = begin_draft(operator, "other")
    begin_draft(stranger, "theirs")
    slugs = {
        name: [row["slug"] for row in caller("GET", "coordinators").json()["results"]]
        for name, caller in {
            "owner": with_key(operator),
            "bound": with_key(operator, coordinator=other),
            "stranger": with_key(stranger),
        }.items()
    }
    assert slugs == {"owner": ["other", "draft"], "bound": ["other"], "stranger": ["theirs"]}
    bound = with_key(operator, coordinator=draft)("GET", "keys").json()["results"]
    assert {row["coordinator"] for row in bound} == {"draft"}


@pytest.mark.parametrize("path", PUBLIC)
def test_anybody_reads_what_is_public(path: str, operator: User, admin: User) -> None:
    make_listed(operator, admin, "listed")
    response = anonymous()("GET", path.format(slug="listed"))
    assert response.status_code == 200
    assert "Set-Cookie" not in response or path == "docs"


def test_this_table_lacks_no_operation() -> None:
    described = json.loads((settings.BASE_DIR / "apiv1/openapi.json").read_text())["paths"]
    found = {
        f"{method.upper()} {path.removeprefix('/api/v1/')}"
        for path, operations in described.items()
        for method in operations
    }
    ours = {str(call) for call in ON_ONE + ON_ALL} | {f"GET {path}" for path in PUBLIC[:2]}
    assert found == ours
