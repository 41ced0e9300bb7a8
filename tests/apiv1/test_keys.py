import pytest
from django.test import Client

from accounts.keys.create import MAX_LIVE, create_key
from accounts.models import ApiKey, User
from portal.models import Coordinator
from tests.apiv1.calling import ALL_SCOPES, Caller, problem, with_key
from tests.portal.making import begin_draft

WISH = {"name": "beats", "scopes": ["heartbeat:write"], "days": 30}
PASSWORD = "a long enough passphrase"


def test_a_new_key_works_and_its_secret_stands_nowhere_else(
    owner: Caller, operator: User, draft: Coordinator
) -> None:
    made = owner("POST", "keys", WISH | {"coordinator": "draft"})
    assert made.status_code == 201
    secret = made.json()["secret"]
    caller = Caller(Client(), Authorization=f"Bearer {secret}")
    beat = caller("PUT", "coordinators/draft/heartbeat", {"seq": 1, "status": "acik"})
    assert beat.status_code == 200
    shown = owner("GET", made["Location"].removeprefix("/api/v1/"))
    assert shown.json()["coordinator"] == "draft" and shown.json()["live"]
    assert shown.json()["last_used_at"]
    assert secret.encode() not in shown.content + owner("GET", "keys").content


def test_me_tells_the_key_one_came_with(owner: Caller, operator: User) -> None:
    body = owner("GET", "me").json()
    assert (body["email"], body["name"]) == ("operator@example.org", "Olga")
    assert body["key"]["scopes"] == list(ALL_SCOPES)


@pytest.mark.parametrize(
    ("field", "value"),
    [("name", ""), ("scopes", []), ("scopes", ["all"]), ("days", 0), ("days", 366)],
)
def test_odd_wishes_are_refused(owner: Caller, field: str, value: object) -> None:
    body = problem(owner("POST", "keys", WISH | {field: value}), 400, "invalid")
    assert body["errors"][0]["field"].partition(".")[0] == field


def test_nobody_else_s_coordinator(owner: Caller, stranger: User) -> None:
    begin_draft(stranger, "theirs")
    answers = [
        problem(owner("POST", "keys", WISH | {"coordinator": slug}), 400, "invalid")
        for slug in ("theirs", "nobodys")
    ]
    assert answers[0] == answers[1]


def test_a_key_gives_nobody_more_than_it_has(operator: User, draft: Coordinator) -> None:
    small = with_key(operator, ["keys:write"])
    problem(small("POST", "keys", WISH), 403, "beyond_reach")
    big, _secret = create_key(operator, "big", ALL_SCOPES, None, 30)
    problem(small("POST", f"keys/{big.key_id}/rotate", {}), 403, "beyond_reach")
    bound = with_key(operator, coordinator=draft)
    problem(bound("POST", "keys", WISH), 403, "beyond_reach")


def test_at_most_so_many(owner: Caller) -> None:
    made = [owner("POST", "keys", WISH).status_code for _ in range(MAX_LIVE - 1)]
    assert set(made) == {201}
    problem(owner("POST", "keys", WISH), 409, "too_many_keys")


def test_revoked_at_once(owner: Caller) -> None:
    made = owner("POST", "keys", WISH | {"scopes": ["profile:read"]}).json()
    caller = Caller(Client(), Authorization=f"Bearer {made['secret']}")
    assert caller("GET", "me").status_code == 200
    assert owner("DELETE", f"keys/{made['key_id']}").status_code == 204
    problem(caller("GET", "me"), 401, "key_revoked")
    problem(owner("DELETE", f"keys/{made['key_id']}"), 409, "key_not_live")
    assert owner("GET", f"keys/{made['key_id']}").json()["live"] is False


def test_rotated_with_an_overlap_or_without(owner: Caller) -> None:
    first = owner("POST", "keys", WISH | {"scopes": ["profile:read"]}).json()
    second = owner("POST", f"keys/{first['key_id']}/rotate", {}).json()
    third = owner("POST", f"keys/{second['key_id']}/rotate", {"overlap_hours": 0}).json()
    statuses = [
        Caller(Client(), Authorization=f"Bearer {made['secret']}")("GET", "me").status_code
        for made in (first, second, third)
    ]
    assert statuses == [200, 401, 200]
    problem(owner("POST", f"keys/{first['key_id']}/rotate", {}), 409, "key_not_live")
    too_long = {"overlap_hours": 169}
    problem(owner("POST", f"keys/{third['key_id']}/rotate", too_long), 400, "invalid")


class TestInABrowser:
    @pytest.fixture
    def browser(self, operator: User) -> Caller:
        """Signed in some time ago, as a page of the site's would call."""
        client = Client(enforce_csrf_checks=True)
        client.force_login(operator)
        client.get("/accounts/settings/")
        return Caller(client, **{"X-CSRFToken": client.cookies["csrftoken"].value})

    def test_a_session_does_what_its_person_may(self, browser: Caller) -> None:
        assert browser("GET", "me").json()["key"] is None
        body = {"name": "N", "slug": "n", "address": "https://n.example.org"}
        assert browser("POST", "coordinators", body).status_code == 201

    def test_but_not_for_a_page_of_another_site(self, browser: Caller) -> None:
        forged = Caller(browser.client)
        body = {"name": "N", "slug": "n", "address": "https://n.example.org"}
        problem(forged("POST", "coordinators", body), 403, "permission_denied")
        assert not Coordinator.objects.exists()

    def test_and_keys_only_after_a_fresh_sign_in(self, browser: Caller, operator: User) -> None:
        assert browser("GET", "keys").status_code == 200
        problem(browser("POST", "keys", WISH), 403, "reauthentication_required")
        key, _secret = create_key(operator, "one", ["profile:read"], None, 30)
        problem(browser("DELETE", f"keys/{key.key_id}"), 403, "reauthentication_required")
        operator.set_password(PASSWORD)
        operator.save()
        browser.client.force_login(operator)
        given = {"password": PASSWORD}
        page = browser.client.get("/accounts/reauthenticate/")
        given["csrfmiddlewaretoken"] = page.context["csrf_token"]
        browser.client.post("/accounts/reauthenticate/", given)
        browser.headers["X-CSRFToken"] = browser.client.cookies["csrftoken"].value
        assert browser("POST", "keys", WISH).status_code == 201
        assert ApiKey.objects.filter(name="beats").count() == 1
