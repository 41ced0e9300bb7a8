import re
from collections.abc import Callable

import pytest
from django.core.cache import cache
from django.test import Client
from django.utils import timezone

from accounts.addresses import verify_address
from accounts.keys.create import MAX_LIVE, create_key
from accounts.models import ApiKey, User
from portal.heartbeats.beat import Beat
from portal.heartbeats.receive import receive
from portal.listings.decide import reject, request_changes, suspend
from portal.listings.submit import submit
from portal.listings.withdraw import withdraw
from portal.models import Attempt, Coordinator, Presence, Proof
from portal.panel.next_step import next_step
from tests.portal.making import begin_draft, make_listed

PASSWORD = "a long enough passphrase"
FIELDS = {
    "name": "New one", "slug": "new-one", "address": "https://new.example.org/c/new-one",
    "mode": "cpt", "base_model": "Qwen/Qwen3-0.6B", "languages": "tr",
}  # fmt: skip
REST = {
    "description": "Turkish for a small model.", "data_source": "Wikipedia",
    "data_licence": "CC BY-SA 4.0", "contact": "team@example.org",
}  # fmt: skip
ONE = "/panel/coordinators/demo"


@pytest.fixture(autouse=True)
def _nothing_counted_yet() -> None:
    cache.clear()


@pytest.fixture
def people(operator: User, stranger: User, admin: User) -> dict[str, User]:
    for user in (operator, stranger, admin):
        user.set_password(PASSWORD)
        user.save()
        verify_address(user)
    return {"owner": operator, "stranger": stranger, "staff": admin}


@pytest.fixture
def owner(client: Client, operator: User) -> Client:
    client.force_login(operator)
    return client


@pytest.fixture
def fresh(people: dict[str, User]) -> Callable[[str], Client]:
    """Sign in by the form just now, which reauthentication accepts; anonymous signs in nowhere."""

    def sign_in(who: str) -> Client:
        client = Client()
        if who != "anonymous":
            form = {"login": people[who].email, "password": PASSWORD}
            assert client.post("/accounts/login/", form).status_code == 302
            client.post("/accounts/reauthenticate/", {"password": PASSWORD})
        return client

    return sign_in


@pytest.fixture
def listed_other(stranger: User, admin: User) -> Coordinator:
    return make_listed(stranger, admin, "other")


@pytest.fixture
def key(operator: User) -> ApiKey:
    made, _secret = create_key(operator, "beat", ["heartbeat:write"], None, 30)
    return made


def said(client: Client, path: str) -> str:
    return client.get(path).content.decode()


def test_the_way_of_an_application(owner: Client) -> None:
    assert "No coordinator yet" in said(owner, "/panel/")
    saved = owner.post("/panel/new/", FIELDS, follow=True)
    assert saved.redirect_chain[-1][0] == "/panel/coordinators/new-one/"
    one = Coordinator.objects.get(slug="new-one")
    assert one.state == "draft"
    path = saved.redirect_chain[-1][0]
    refused = owner.post(f"{path}submit/", follow=True)
    assert refused.redirect_chain[-1][0] == f"{path}edit/"
    assert "fill in: Description, Source of the data" in refused.content.decode()
    owner.post(f"{path}edit/", FIELDS | REST | {"revision": one.revision, "submit": "yes"})
    one.refresh_from_db()
    assert (one.state, one.contact) == ("submitted", "team@example.org")
    assert "Withdraw New one?" in said(owner, f"{path}withdraw/")
    one.refresh_from_db()
    assert one.state == "submitted"
    owner.post(f"{path}withdraw/")
    one.refresh_from_db()
    assert one.state == "withdrawn"
    again = owner.post(f"{path}withdraw/", follow=True).content.decode()
    assert "cannot be done in the state" in again


def test_wrong_fields_are_told_beside_them(owner: Client, draft: Coordinator) -> None:
    bad = {"languages": "Turkish", "address": "http://10.0.0.1/", "slug": "demo"}
    page = owner.post("/panel/new/", FIELDS | bad).content.decode()
    assert "Write language codes like tr,en,de." in page and page.count("errorlist") >= 3
    assert Coordinator.objects.count() == 1


def test_nothing_unseen_is_overwritten(owner: Client, draft: Coordinator) -> None:
    form = {name: getattr(draft, name) for name in (*FIELDS, *REST)} | {"revision": 0}
    owner.post(f"{ONE}/edit/", form | {"name": "First"})
    late = owner.post(f"{ONE}/edit/", form | {"name": "Second"}, follow=True)
    assert "changed in between" in late.content.decode()
    draft.refresh_from_db()
    assert draft.name == "First"


def test_a_taken_address_is_told(owner: Client, draft: Coordinator, stranger: User) -> None:
    taken = begin_draft(stranger, "taken", address=draft.address)
    submit(taken, by=stranger)
    page = owner.post(f"{ONE}/submit/", follow=True).content.decode()
    assert "Another coordinator has this address already" in page
    draft.refresh_from_db()
    assert draft.state == "draft"


def test_a_submitted_slug_stays(owner: Client, listed: Coordinator) -> None:
    form = {name: getattr(listed, name) for name in (*FIELDS, *REST)}
    assert "has to be verified and approved again" in said(owner, f"{ONE}/edit/")
    owner.post(f"{ONE}/edit/", form | {"revision": listed.revision, "slug": "x", "name": "Y"})
    listed.refresh_from_db()
    assert (listed.slug, listed.name, listed.state) == ("demo", "Y", "approved")


def test_the_admins_words_are_shown(
    owner: Client, draft: Coordinator, operator: User, admin: User
) -> None:
    submit(draft, by=operator)
    request_changes(draft, by=admin, message="Which <dump>?")
    for path in ("/panel/", f"{ONE}/", f"{ONE}/edit/"):
        assert "Which &lt;dump&gt;?" in said(owner, path)


def test_verification_shows_the_line_commands_and_evidence(
    owner: Client, draft: Coordinator
) -> None:
    page = said(owner, f"{ONE}/verification/")
    assert f"modelen-verify=v1 demo {draft.proof_token}" in page
    assert "curl -iL https://demo.example.org/.well-known/modelen-verification.txt" in page
    assert "We have not looked yet" in page
    asked = owner.post(f"{ONE}/check/", follow=True).content.decode()
    assert "We are looking" in asked and "A check is under way" in asked
    Attempt.objects.update(
        finished_at=timezone.now(), code="not_found", hops=[{"status": 404}], received_bytes=9
    )
    page = said(owner, f"{ONE}/verification/")
    for text in ("no verification file", "Put the file where the curl", "404", "9 bytes"):
        assert text in page


def test_checks_are_not_asked_for_without_end(owner: Client, draft: Coordinator) -> None:
    for _time in range(6):
        Attempt.objects.update(finished_at=timezone.now(), code="not_found")
        last = owner.post(f"{ONE}/check/", follow=True)
    assert "too many checks" in last.content.decode()
    assert Attempt.objects.count() == 5


def test_heartbeats_and_history(owner: Client, listed: Coordinator) -> None:
    receive(listed, Beat(41, "acik", round=1, rounds=2))
    page = said(owner, f"{ONE}/heartbeats/")
    assert "portal_client.py heartbeat demo" in page
    assert "newest seq is 41" in page and "/api/v1/coordinators/demo/heartbeat" in page
    page = said(owner, f"{ONE}/history/")
    assert "approve" in page and "an admin" in page and "you" in page
    assert "admin@example.org" not in page


def test_the_next_step(
    draft: Coordinator, listed_other: Coordinator, operator: User, admin: User
) -> None:
    pages = [next_step(draft).page]
    submit(draft, by=operator)
    pages.append(next_step(draft).page)
    draft.proof = Proof.VERIFIED
    pages.append(next_step(draft).page)
    assert pages == ["portal:panel-edit", "portal:panel-verification", ""]
    for values in ({"presence": Presence.NEVER}, {"presence": Presence.OFFLINE}):
        vars(listed_other).update(values)
        assert next_step(listed_other).page == "portal:panel-heartbeats"
    listed_other.presence = Presence.ONLINE
    assert "All is well" in str(next_step(listed_other).text)
    listed_other.failing_since = timezone.now()
    assert next_step(listed_other).page == "portal:panel-verification"
    listed_other.proof = Proof.STALE
    assert next_step(listed_other).page == "portal:panel-verification"
    suspend(listed_other, by=admin, message="complaints")
    reject(draft, by=admin, message="no")
    assert next_step(listed_other).page == next_step(draft).page == ""


def test_a_key_is_shown_once_and_never_kept(fresh: Callable[[str], Client], draft: Coordinator):
    owner = fresh("owner")
    form = {"name": "beat", "scopes": ["heartbeat:write"], "days": 30, "coordinator": "demo"}
    made = owner.post("/panel/keys/new/", form)
    key = ApiKey.objects.get()
    [secret] = set(re.findall(r"mdl_\w{38}", made.content.decode()))
    assert "no-store" in made["Cache-Control"]
    assert secret[4:12] == key.key_id and key.coordinator == draft
    assert secret not in said(owner, "/panel/keys/") and key.key_id in said(owner, "/panel/keys/")
    replaced = owner.post(f"/panel/keys/{key.key_id}/rotate/", {"overlap_hours": 1})
    assert "no-store" in replaced["Cache-Control"] and b"mdl_" in replaced.content
    new = ApiKey.objects.get(replaces=key)
    assert "cannot be undone" in said(owner, f"/panel/keys/{new.key_id}/revoke/")
    owner.post(f"/panel/keys/{new.key_id}/revoke/")
    new.refresh_from_db()
    assert not new.is_live
    again = owner.post(f"/panel/keys/{new.key_id}/revoke/", follow=True).content.decode()
    assert "was revoked" in again


def test_with_ten_keys_one_is_still_replaced_at_once(
    fresh: Callable[[str], Client], people: dict[str, User]
) -> None:
    owner = fresh("owner")
    for _ in range(MAX_LIVE):
        key, _secret = create_key(people["owner"], "beat", ["heartbeat:write"], None, 30)
    form = {"name": "one more", "scopes": ["heartbeat:write"], "days": 30}
    rotation = f"/panel/keys/{key.key_id}/rotate/"
    for path, fields in (("/panel/keys/new/", form), (rotation, {"overlap_hours": 24})):
        assert "with 0 hours" in owner.post(path, fields).content.decode()
    assert b"mdl_" in owner.post(rotation, {"overlap_hours": 0}).content


def test_keys_ask_to_sign_in_again(people: dict[str, User], owner: Client, key: ApiKey) -> None:
    for path in ("new/", f"{key.key_id}/rotate/", f"{key.key_id}/revoke/"):
        for method in (owner.get, owner.post):
            answer = method(f"/panel/keys/{path}")
            assert answer.status_code == 302 and "/reauthenticate/" in answer["Location"]
    assert ApiKey.objects.count() == 1


def test_what_a_key_form_refuses(fresh: Callable[[str], Client], listed_other: Coordinator):
    owner = fresh("owner")
    for wrong in ({"coordinator": "other"}, {"scopes": []}, {"days": 400}, {"name": " "}):
        form = {"name": "beat", "scopes": ["heartbeat:write"], "days": 30} | wrong
        assert "errorlist" in owner.post("/panel/keys/new/", form).content.decode()
    assert not ApiKey.objects.exists()


@pytest.mark.parametrize("who", ["stranger", "staff", "anonymous"])
def test_pages_of_others_do_not_exist(
    fresh: Callable[[str], Client], draft: Coordinator, who: str
) -> None:
    client = fresh(who)
    for path in ("", "edit/", "withdraw/", "verification/", "heartbeats/", "history/"):
        answer = client.get(f"{ONE}/{path}")
        assert answer.status_code == (302 if who == "anonymous" else 404)
        assert draft.proof_token.encode() not in answer.content
    for path in ("/panel/", "/panel/keys/", "/panel/new/"):
        page = client.get(path)
        assert draft.name.encode() not in page.content


def test_begin_needs_an_account(client: Client, db: None) -> None:
    assert client.post("/panel/new/", FIELDS)["Location"].startswith("/accounts/login/")
    assert not Coordinator.objects.exists()


def test_changes_are_not_made_by_links(owner: Client, draft: Coordinator) -> None:
    for path in ("submit/", "check/"):
        assert owner.get(f"{ONE}/{path}").status_code == 405


def test_a_withdrawn_listing_offers_nothing(
    owner: Client, draft: Coordinator, operator: User
) -> None:
    withdraw(draft, by=operator)
    page = said(owner, f"{ONE}/")
    for gone in ("submit/", "edit/", "withdraw/"):
        assert f'demo/{gone}"' not in page
