import json

import pytest
from django.contrib.admin.models import LogEntry
from django.core import mail
from django.test import Client

from accounts.audit import record
from accounts.create_admin import create_admin
from accounts.delete import LastAdmin, delete_account
from accounts.keys.create import create_key
from accounts.models import AuditEvent, User
from portal.models import State
from tests.accounts.conftest import Activate, SignIn
from tests.accounts.people import PASSWORD
from tests.portal.making import begin_draft, make_approved

pytestmark = pytest.mark.django_db(transaction=True)


def test_settings_are_kept_and_shown_in_the_chosen_language(ada: User, sign_in: SignIn) -> None:
    client = sign_in(ada)
    form = {"name": "Ada", "language": "tr", "mails_verification": "on"}
    page = client.post("/accounts/settings/", form, follow=True)
    assert 'lang="tr"' in page.content.decode()
    ada.refresh_from_db()
    assert (ada.name, ada.language) == ("Ada", "tr")
    assert (ada.mails_presence, ada.mails_verification) == (False, True)


def test_a_language_that_does_not_exist_is_refused(ada: User, sign_in: SignIn) -> None:
    page = sign_in(ada).post("/accounts/settings/", {"name": "", "language": "xx"})
    assert page.context["form"].errors.keys() == {"language"}


def test_the_language_button_is_remembered_with_the_account(ada: User, sign_in: SignIn) -> None:
    client = sign_in(ada)
    client.post("/i18n/setlang/", {"language": "tr", "next": "/"})
    ada.refresh_from_db()
    assert ada.language == "tr"
    client.post("/i18n/setlang/", {"language": "xx", "next": "/"})
    ada.refresh_from_db()
    assert ada.language == "tr"


def test_a_visitor_chooses_a_language_for_their_browser(client: Client, ada: User) -> None:
    client.post("/i18n/setlang/", {"language": "tr", "next": "/"})
    assert 'lang="tr"' in client.get("/accounts/login/").content.decode()
    ada.refresh_from_db()
    assert ada.language == "en"


def test_the_download_asks_again_who_one_is(ada: User, sign_in: SignIn) -> None:
    answer = sign_in(ada, confirmed=False).get("/accounts/data/download/")
    assert answer.headers["Location"].startswith("/accounts/reauthenticate/")


def test_the_download_holds_everything_but_secrets(
    ada: User, sign_in: SignIn, second_factor: Activate
) -> None:
    client = sign_in(ada)
    secret = second_factor(ada)
    begin_draft(ada)
    answer = client.get("/accounts/data/download/")
    assert "attachment" in answer.headers["Content-Disposition"]
    assert "no-store" in answer.headers["Cache-Control"]
    data = json.loads(answer.content)
    assert data["account"]["email"] == ada.email
    assert [c["slug"] for c in data["coordinators"]] == ["demo"]
    assert [factor["type"] for factor in data["second_factors"]] == ["totp"]
    assert data["sessions"][0]["ip"] == "127.0.0.1"
    assert "begin" in [deed["verb"] for deed in data["deeds"]]
    text = answer.content.decode()
    assert secret not in text and ada.password not in text


def test_deleting_an_account_withdraws_and_forgets(ada: User, sign_in: SignIn) -> None:
    admin = create_admin("admin@example.org", PASSWORD)
    coordinator = make_approved(ada, admin)
    client, elsewhere = sign_in(ada), sign_in(ada)
    number = ada.pk
    page = client.post("/accounts/delete/", {"email": "ADA@example.org"})
    assert page.status_code == 200 and b"deleted" in page.content
    assert not User.objects.filter(pk=number).exists()
    coordinator.refresh_from_db()
    assert (coordinator.state, coordinator.operator, coordinator.contact) == (
        State.WITHDRAWN,
        None,
        "",
    )
    assert mail.outbox[-1].to == ["ada@example.org"]
    for gone in (client, elsewhere):
        assert gone.get("/accounts/settings/").status_code == 302
    kept = AuditEvent.objects.filter(verb__in=["submit", "withdraw"])
    assert len(kept) == 2 and {event.actor for event in kept} == {None}
    assert "ada@" not in json.dumps(list(AuditEvent.objects.values("target", "detail")))


def test_deleting_takes_the_address_and_a_fresh_proof(ada: User, sign_in: SignIn) -> None:
    page = sign_in(ada).post("/accounts/delete/", {"email": "somebody@example.org"})
    assert page.context["form"].errors.keys() == {"email"}
    answer = sign_in(ada, confirmed=False).post("/accounts/delete/", {"email": ada.email})
    assert answer.headers["Location"].startswith("/accounts/reauthenticate/")
    assert User.objects.filter(pk=ada.pk).exists()


def test_a_stranger_deletes_nobody(client: Client, ada: User) -> None:
    answer = client.post("/accounts/delete/", {"email": ada.email})
    assert answer.headers["Location"].startswith("/accounts/login/")
    assert User.objects.filter(pk=ada.pk).exists()


def test_the_last_administrator_stays(sign_in: SignIn) -> None:
    admin = create_admin("admin@example.org", PASSWORD)
    page = sign_in(admin).post("/accounts/delete/", {"email": admin.email})
    assert b"only administrator" in page.content
    with pytest.raises(LastAdmin):
        delete_account(admin)
    create_admin("second@example.org", PASSWORD)
    delete_account(admin)
    assert User.objects.get().email == "second@example.org"


def test_an_admin_deletes_by_the_same_verb(ada: User, sign_in: SignIn) -> None:
    admin = create_admin("admin@example.org", PASSWORD)
    coordinator = begin_draft(ada)
    create_key(ada, "beat", ["heartbeat:write"], coordinator, 30)
    client = sign_in(admin)
    client.post(f"/admin/accounts/user/{ada.pk}/delete/", {"post": "yes"})
    coordinator.refresh_from_db()
    assert coordinator.state == State.WITHDRAWN
    assert LogEntry.objects.count() == 1
    assert ada.email not in str(LogEntry.objects.values())
    client.post(f"/admin/accounts/user/{admin.pk}/delete/", {"post": "yes"})
    assert User.objects.filter(pk=admin.pk).exists()


def test_audit_rows_are_only_read(ada: User, sign_in: SignIn) -> None:
    event = record("begin", "coordinator:x", ada)
    client = sign_in(create_admin("admin@example.org", PASSWORD))
    assert client.get("/admin/accounts/auditevent/").status_code == 200
    assert client.post(f"/admin/accounts/auditevent/{event.pk}/delete/").status_code == 403
    assert client.post(f"/admin/accounts/auditevent/{event.pk}/change/").status_code == 403
