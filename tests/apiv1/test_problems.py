"""Whatever goes wrong under /api/v1/ is answered with a problem."""

import json
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from apiv1.throttles import FAILURES_PER_MINUTE, Reading
from portal.models import Coordinator
from tests.apiv1.calling import Caller, anonymous, problem, with_key


def test_an_unknown_address(db: None) -> None:
    problem(anonymous()("GET", "nowhere"), 404, "not_found")
    problem(anonymous()("GET", "directory/"), 404, "not_found")
    problem(anonymous()("GET", "coordinators/no%20slug"), 404, "not_found")


@pytest.mark.parametrize("path", ["me", "directory"])
def test_a_method_that_is_not_there(path: str, owner: Caller) -> None:
    response = owner("DELETE", path)
    problem(response, 405, "method_not_allowed")
    assert response["Allow"] == "GET, HEAD"
    problem(owner("OPTIONS", path), 405, "method_not_allowed")


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ("{", 400, "parse_error"),
        ("NaN", 400, "parse_error"),
        ("[" * 60_000, 400, "parse_error"),
        ("9" * 5000, 400, "parse_error"),
        ("[]", 400, "invalid"),
        ("null", 400, "invalid"),
        ('{"name": "\\u0000", "slug": "a", "address": "b"}', 400, "invalid"),
        ('{"name": "\\ud800", "slug": "a", "address": "b"}', 400, "invalid"),
        (" " * (64 * 1024 + 1), 413, "too_large"),
    ],
    ids=lambda value: str(value)[:12],
)
def test_a_body_that_is_no_application(owner: Caller, body: str, status: int, code: str) -> None:
    problem(owner("POST", "coordinators", body), status, code)


def test_a_body_of_another_kind(owner: Caller) -> None:
    response = owner.client.post(
        "/api/v1/coordinators", "a=1", "application/x-www-form-urlencoded", headers=owner.headers
    )
    problem(response, 415, "unsupported_media_type")


def test_what_is_wrong_where(owner: Caller) -> None:
    body = problem(
        owner("POST", "coordinators", {"slug": "no slug", "languages": ["tr", "Turkish"]}),
        400,
        "invalid",
    )
    assert {(error["field"], error["code"]) for error in body["errors"]} == {
        ("name", "required"),
        ("address", "required"),
        ("slug", "invalid"),
        ("languages.1", "invalid"),
    }


def test_what_nobody_foresaw_is_reported_and_tells_nothing(
    operator: User, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: Any) -> None:
        raise LookupError("the secret reason")

    monkeypatch.setattr("apiv1.views.coordinators.show", fail)
    caller = with_key(operator)
    caller.client.raise_request_exception = False
    created = {"name": "N", "slug": "n", "address": "https://n.example.org"}
    response = caller("POST", "coordinators", created)
    problem(response, 500, "internal_server_error")
    assert b"secret reason" not in response.content
    assert "the secret reason" in caplog.text


@pytest.mark.parametrize("host", ["evil.example.org", "a b"])
def test_other_layers_answer_with_problems_too(host: str, db: None) -> None:
    client = Client(raise_request_exception=False)
    problem(client.get("/api/v1/directory", headers={"Host": host}), 400, "bad_request")


@pytest.mark.parametrize(
    "header",
    ["Bearer", "Bearer mdl_x", "Basic YTpi", "Bearer " + "mdl_" + "0" * 38, "mdl_" + "é" * 38],
)
def test_a_wrong_key_is_no_anonymous_caller(header: str, db: None) -> None:
    caller = Caller(Client(), Authorization=header)
    response = caller("GET", "me")
    problem(response, 401, "invalid_key")
    assert response["WWW-Authenticate"] == "Bearer"


def test_a_key_in_the_address_is_none(operator: User, owner: Caller) -> None:
    secret = owner.headers["Authorization"].removeprefix("Bearer ")
    problem(anonymous()("GET", f"me?key={secret}"), 401, "not_authenticated")


def test_guessing_keys_is_slowed(db: None) -> None:
    caller = Caller(Client(), Authorization="Bearer mdl_x")
    answers = [caller("GET", "me").status_code for _ in range(FAILURES_PER_MINUTE + 1)]
    assert answers == [401] * FAILURES_PER_MINUTE + [429]
    assert caller("GET", "me")["Retry-After"] == "60"


def test_an_inactive_owner_s_key_is_worthless(operator: User, owner: Caller) -> None:
    operator.is_active = False
    operator.save()
    problem(owner("GET", "me"), 401, "invalid_key")


def test_a_lowered_limit_still_says_when_to_return(
    operator: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DRF's own wait() is None then, and Retry-After is missing."""
    caller = with_key(operator)
    for _ in range(5):
        assert caller("GET", "me").status_code == 200
    monkeypatch.setattr(Reading, "THROTTLE_RATES", {"reading": "2/min"})
    response = caller("GET", "me")
    problem(response, 429, "throttled")
    assert 0 < int(response["Retry-After"]) <= 60


def test_each_key_has_a_limit_of_its_own(operator: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Reading, "THROTTLE_RATES", {"reading": "1/min"})
    one, other = with_key(operator), with_key(operator)
    assert [caller("GET", "me").status_code for caller in (one, other, one)] == [200, 200, 429]


def test_problems_come_in_the_reader_s_language(db: None) -> None:
    response = anonymous()("GET", "me", headers={"Accept-Language": "tr"})
    assert json.loads(response.content)["code"] == "not_authenticated"
    assert response["Content-Language"] == "tr"


def test_the_site_s_own_pages_keep_theirs(listed: Coordinator, client: Client) -> None:
    assert client.get("/nowhere")["Content-Type"].startswith("text/html")
