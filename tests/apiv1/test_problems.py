"""Whatever goes wrong under /api/v1/ is answered with a problem."""

import time
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.keys.create import create_key
from accounts.keys.rotate import rotate_key
from accounts.models import ApiKey, AuditEvent, User
from apiv1.throttles import FAILURES_PER_MINUTE, Reading
from portal.listings.withdraw import withdraw
from portal.models import Coordinator
from tests.apiv1.calling import Caller, anonymous, problem, with_key
from tests.portal.making import begin_draft

Refused = dict[str, list[tuple[Any, ...]]]


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


@pytest.mark.parametrize("path", ["docs", "openapi.json"])
def test_nor_where_pages_are(path: str, db: None) -> None:
    response = anonymous()("POST", path)
    problem(response, 405, "method_not_allowed")
    assert response["Allow"] == "GET, HEAD"
    assert response["X-Content-Type-Options"] == "nosniff"
    assert int(response["Content-Length"]) == len(response.content)


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


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", True),
        ("2001:db8:1:2::1", "2001:db8:1:3::1", False),
        ("::ffff:192.0.2.1", "192.0.2.1", True),
        ("192.0.2.1", "192.0.2.2", False),
    ],
)
def test_a_client_is_an_address_or_the_network_it_owns(
    one: str, other: str, same: bool, db: None
) -> None:
    """One host may have every address of an IPv6 network of 64 bits."""
    for _ in range(FAILURES_PER_MINUTE):
        _with_wrong_key(one)
    assert _with_wrong_key(other).status_code == (429 if same else 401)


def _with_wrong_key(address: str) -> Any:
    client = Client(REMOTE_ADDR=address)
    return Caller(client, Authorization="Bearer mdl_x")("GET", "me")


def test_a_slowed_address_s_right_key_still_works(owner: Caller, db: None) -> None:
    for _ in range(FAILURES_PER_MINUTE + 1):
        _with_wrong_key("127.0.0.1")
    assert owner("GET", "me").status_code == 200


@pytest.mark.parametrize("code", ["key_revoked", "key_expired"])
def test_who_shows_all_of_an_ended_key_is_told_so(
    code: str, owner: Caller, operator: User, stranger: User
) -> None:
    ended = {"revoked_at": timezone.now()} if code == "key_revoked" else {}
    ApiKey.objects.update(expires_at=timezone.now() - timedelta(seconds=1), **ended)
    for _ in range(2):
        problem(owner("GET", "me"), 401, code)
    [told] = AuditEvent.objects.filter(verb="refuse")
    assert told.target == f"key:{ApiKey.objects.get().key_id}"
    User.objects.filter(pk=operator.pk).update(is_active=False)
    problem(owner("GET", "me"), 401, "invalid_key")


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


def test_a_clock_that_is_set_back_locks_nobody_out(
    operator: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Reading, "THROTTLE_RATES", {"reading": "1/min"})
    caller = with_key(operator)
    assert [caller("GET", "me").status_code for _ in range(2)] == [200, 429]
    monkeypatch.setattr(Reading, "timer", staticmethod(lambda: time.time() - 86_400))
    assert [caller("GET", "me").status_code for _ in range(2)] == [200, 429]


def test_each_key_has_a_limit_of_its_own(operator: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Reading, "THROTTLE_RATES", {"reading": "1/min"})
    one, other = with_key(operator), with_key(operator)
    assert [caller("GET", "me").status_code for caller in (one, other, one)] == [200, 200, 429]


@pytest.fixture
def refused(owner: Caller, operator: User, draft: Coordinator, listed: Coordinator) -> Refused:
    """Requests that are refused, by the code of the refusal."""
    key, _secret = create_key(operator, "big", ["keys:write", "profile:read"], None, 30)
    rotated, _secret = create_key(operator, "old", ["keys:write"], None, 30)
    rotate_key(rotated, operator)
    gone = begin_draft(operator, "gone")
    withdraw(gone, operator)
    bare = begin_draft(operator, "bare", description="")
    small = with_key(operator, ["keys:write"])
    bound = with_key(operator, coordinator=draft)
    forged, browser = Client(enforce_csrf_checks=True), Client()
    forged.force_login(operator)
    browser.force_login(operator)
    wish = {"name": "n", "scopes": ["heartbeat:write"]}
    taken = {"name": "N", "slug": listed.slug, "address": "ftp://10.0.0.1", "languages": [""]}
    path, beat = f"coordinators/{draft.slug}", {"seq": 1, "status": "acik"}
    return {
        "not_found": [(owner, "GET", "coordinators/nowhere"), (owner, "GET", "nowhere")],
        "not_authenticated": [(anonymous(), "GET", "me")],
        "invalid_key": [(Caller(Client(), Authorization="Bearer x"), "GET", "me")],
        "permission_denied": [(Caller(forged), "POST", "coordinators", {})],
        "reauthentication_required": [(Caller(browser), "POST", "keys", wish)],
        "missing_scope": [(small, "GET", "me")],
        "method_not_allowed": [(owner, "PUT", "me"), (owner, "PUT", "docs")],
        "parse_error": [(owner, "POST", "coordinators", "{")],
        "too_large": [(owner, "POST", "coordinators", " " * 70_000)],
        "invalid": [
            (owner, "POST", "coordinators", {}),
            (owner, "POST", "coordinators", taken),
            (owner, "PUT", f"{path}/heartbeat", {"seq": 0, "status": "x", "loss": -1}),
            (owner, "POST", "keys", wish | {"coordinator": "nowhere", "days": 0}),
            (owner, "GET", "directory?mode=x&language=Turkish"),
        ],
        "wrong_state": [
            (owner, "POST", "coordinators/listed/submit"),
            (owner, "PUT", "coordinators/gone/heartbeat", beat),
            (owner, "POST", "coordinators/gone/verification/check"),
            (owner, "PATCH", "coordinators/gone", {"name": "M"}, {"If-Match": "*"}),
            (owner, "PATCH", "coordinators/listed", {"slug": "m"}, {"If-Match": "*"}),
        ],
        "outdated": [(owner, "PATCH", path, {"name": "M"}, {"If-Match": '"9"'})],
        "if_match_missing": [(owner, "PATCH", path, {"name": "M"})],
        "incomplete": [(owner, "POST", f"coordinators/{bare.slug}/submit")],
        "bound_key": [(bound, "POST", "coordinators", {})],
        "beyond_reach": [
            (bound, "POST", "keys", wish),
            (small, "POST", "keys", wish),
            (small, "POST", f"keys/{key.key_id}/rotate", {}),
        ],
        "key_not_live": [(owner, "POST", f"keys/{rotated.key_id}/rotate", {})],
        "invalid_limit": [(owner, "GET", "keys?limit=0")],
        "invalid_cursor": [(owner, "GET", "keys?cursor=x")],
        "invalid_idempotency_key": [
            (owner, "POST", "coordinators", {}, {"Idempotency-Key": "a b"})
        ],
    }


def test_problems_come_in_the_reader_s_language(refused: Refused) -> None:
    """Codes stay; whatever is for people differs."""
    for code, requests in refused.items():
        for caller, method, path, *more in requests:
            body, headers = (*more, None, None)[:2]
            english, turkish = (
                caller(method, path, body, {**(headers or {}), "Accept-Language": language})
                for language in ("en", "tr")
            )
            assert turkish["Content-Language"] == "tr"
            told = [answer.json() for answer in (english, turkish)]
            assert [found["code"] for found in told] == [code] * 2, told
            one, other = (_for_people(found) for found in told)
            assert len(one) == len(other)
            same = [text for text, its in zip(one, other, strict=True) if text == its]
            assert same == [], f"{code}: not translated"


def _for_people(problem: dict[str, Any]) -> list[str]:
    messages = [error["message"] for error in problem.get("errors", [])]
    return [problem["title"], problem["detail"], *messages]


def test_what_fails_before_a_language_is_chosen_too(db: None) -> None:
    client = Client(raise_request_exception=False)
    headers = {"Host": "evil.example.org", "Accept-Language": "tr"}
    body = problem(client.get("/api/v1/directory", headers=headers), 400, "bad_request")
    assert body["title"] == "Hatalı istek"


def test_the_site_s_own_pages_keep_theirs(listed: Coordinator, client: Client) -> None:
    assert client.get("/nowhere")["Content-Type"].startswith("text/html")
