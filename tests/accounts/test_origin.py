"""From where something was done: in audit rows, in answers, and forgotten in time."""

import asyncio
import json
from datetime import timedelta
from typing import Any

import pytest
from django.test import AsyncClient, Client, RequestFactory
from django.utils import timezone

from accounts.audit import record
from accounts.create_admin import create_admin
from accounts.keys.create import create_key
from accounts.keys.revoke import revoke_key
from accounts.models import AuditEvent, User
from accounts.origin import HEADER, KnowOrigin, Origin, current_origin
from accounts.tasks import forget_old_origins
from tests.accounts.conftest import SignIn
from tests.accounts.people import PASSWORD
from tests.portal.making import at, make_approved

pytestmark = pytest.mark.django_db(transaction=True)

KEY_FORM = {"name": "beat", "scopes": ["heartbeat:write"], "days": 30}
BROWSER: dict[str, Any] = {"REMOTE_ADDR": "2001:db8::7", "HTTP_USER_AGENT": "Browser/1"}


def origins() -> list[tuple[str | None, str]]:
    return list(AuditEvent.objects.order_by("pk").values_list("ip", "user_agent"))


def test_a_row_says_from_where_and_in_which_request(ada: User, sign_in: SignIn) -> None:
    answer = sign_in(ada).post("/panel/keys/new/", KEY_FORM, **BROWSER)
    event = AuditEvent.objects.get(verb="create")
    assert (event.ip, event.user_agent) == ("2001:db8::7", "Browser/1")
    assert event.request_id and event.request_id == answer.headers[HEADER]


def test_so_does_one_of_a_server_that_runs_by_asgi(ada: User) -> None:
    """There each part of a request may run in a thread of its own."""
    _key, secret = create_key(ada, "beat", ["heartbeat:write"], None, 30)
    revoke_key(_key, by=ada)
    headers = {"Authorization": f"Bearer {secret}", "User-Agent": "script"}
    answer = asyncio.run(AsyncClient().get("/api/v1/me", headers=headers))
    assert answer.status_code == 401
    event = AuditEvent.objects.get(verb="refuse")
    assert (event.ip, event.user_agent) == ("127.0.0.1", "script")
    assert event.request_id == answer.headers[HEADER]


def test_outside_of_requests_there_is_none(ada: User) -> None:
    assert current_origin() is None
    event = record("begin", "coordinator:x", ada)
    assert (event.ip, event.user_agent, event.request_id) == (None, "", "")


def test_every_answer_has_an_id_that_no_client_chooses(client: Client) -> None:
    ids = []
    for path in ("/healthz", "/nowhere", "/api/v1/nowhere", "/api/v1/me"):
        answer = client.get(path, headers={HEADER: "mine"})
        ids.append(answer.headers[HEADER])
    assert len(set(ids)) == 4 and all(len(found) == 32 for found in ids)


def test_an_error_leaves_no_origin_behind() -> None:
    def fail(request: Any) -> Any:
        assert current_origin() is not None
        raise RuntimeError

    with pytest.raises(RuntimeError):
        KnowOrigin(fail)(RequestFactory().get("/"))
    assert current_origin() is None


@pytest.mark.parametrize(
    ("told", "ip"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:DB8:0::7", "2001:db8::7"),
        ("fe80::1%eth0", "fe80::1"),
        ("", None),
        ("unix:/run/modelen", None),
        ("192.0.2.7'; DROP TABLE", None),
    ],
)
def test_an_address_is_one_or_nothing(told: str, ip: str | None) -> None:
    assert Origin(RequestFactory().get("/", REMOTE_ADDR=told)).ip == ip


@pytest.mark.parametrize(
    ("proxies", "forwarded", "ip"),
    [
        (0, "198.51.100.1", "192.0.2.1"),
        (1, "203.0.113.66, 198.51.100.1", "198.51.100.1"),
        (2, "203.0.113.66, 198.51.100.1, 10.0.0.1", "198.51.100.1"),
        (2, "198.51.100.1", "192.0.2.1"),
        (1, "", "192.0.2.1"),
    ],
)
def test_only_our_proxies_are_believed(
    settings: Any, proxies: int, forwarded: str, ip: str
) -> None:
    settings.TRUSTED_PROXIES = proxies
    made = RequestFactory().get("/", REMOTE_ADDR="192.0.2.1", HTTP_X_FORWARDED_FOR=forwarded)
    assert Origin(made).ip == ip


def test_a_user_agent_is_cut_and_printable() -> None:
    agent = "a\0b\r\n" + "c" * 5000
    request = RequestFactory().get("/", HTTP_USER_AGENT=agent)
    assert Origin(request).user_agent == "ab" + "c" * 198


def test_old_rows_forget_from_where_and_stay(ada: User, sign_in: SignIn, settings: Any) -> None:
    settings.AUDIT_ORIGIN_DAYS = 30
    client = sign_in(ada)
    for _ in range(2):
        client.post("/panel/keys/new/", KEY_FORM, **BROWSER)
    old, young = AuditEvent.objects.order_by("pk")
    AuditEvent.objects.filter(pk=old.pk).update(at=timezone.now() - timedelta(days=31))
    forget_old_origins()
    assert origins() == [(None, ""), ("2001:db8::7", "Browser/1")]
    with at(timezone.now() + timedelta(days=31)):
        forget_old_origins()
    assert origins() == [(None, "")] * 2
    kept = AuditEvent.objects.order_by("pk").values_list("target", "actor", "request_id")
    assert list(kept) == [(event.target, ada.pk, event.request_id) for event in (old, young)]


def test_a_deleted_account_leaves_no_trace_of_where(ada: User, sign_in: SignIn) -> None:
    admin = create_admin("admin@example.org", PASSWORD)
    make_approved(ada, admin)
    key, secret = create_key(ada, "beat", ["heartbeat:write"], None, 30)
    client = sign_in(ada)
    client.post("/panel/keys/new/", KEY_FORM, **BROWSER)
    revoke_key(key, by=ada)
    headers = {"Authorization": f"Bearer {secret}"}
    assert Client().get("/api/v1/me", headers=headers, **BROWSER).status_code == 401
    theirs = sign_in(admin)
    theirs.post("/panel/keys/new/", KEY_FORM, REMOTE_ADDR="192.0.2.9")
    count = AuditEvent.objects.count()
    client.post("/accounts/delete/", {"email": ada.email}, **BROWSER)
    assert not User.objects.filter(email=ada.email).exists()
    assert AuditEvent.objects.count() == count + 2  # withdrawn, deleted
    assert {ip for ip, _agent in origins()} == {None, "192.0.2.9"}
    assert "Browser/1" not in json.dumps(origins())


def test_the_download_says_from_where(ada: User, sign_in: SignIn) -> None:
    client = sign_in(ada)
    client.post("/panel/keys/new/", KEY_FORM, **BROWSER)
    [deed] = json.loads(client.get("/accounts/data/download/").content)["deeds"]
    assert (deed["ip"], deed["user_agent"]) == ("2001:db8::7", "Browser/1")


def test_staff_find_what_came_from_an_address(ada: User, sign_in: SignIn) -> None:
    sign_in(ada).post("/panel/keys/new/", KEY_FORM, **BROWSER)
    event = AuditEvent.objects.get()
    staff = sign_in(create_admin("admin@example.org", PASSWORD))
    for word, count in (("2001:db8::7", 1), (event.request_id, 1), ("2001:db8::8", 0)):
        page = staff.get("/admin/accounts/auditevent/", {"q": word})
        assert page.context["cl"].result_count == count
    assert (
        "Browser/1" in staff.get(f"/admin/accounts/auditevent/{event.pk}/change/").content.decode()
    )
