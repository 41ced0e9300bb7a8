import socket

import pytest
from django.contrib.auth import get_user
from django.core import mail
from django.test import Client
from pytest_django import Settings

from accounts.adapter import DELIVERIES
from accounts.models import User
from tests.accounts.conftest import Activate, SignIn
from tests.accounts.people import PASSWORD, code, link_in_mail, wait_for_deliveries

SIGN_UP = {"email": "new@example.org", "password1": PASSWORD}
pytestmark = pytest.mark.django_db


def name(client: Client) -> str:
    """Who is signed in."""
    return str(get_user(client))


def log_in(client: Client, email: str, password: str = PASSWORD):
    return client.post("/accounts/login/", {"login": email, "password": password})


def test_signing_up_ends_with_the_link_in_the_mail(client: Client) -> None:
    answer = client.post("/accounts/signup/", SIGN_UP)
    assert answer.headers["Location"] == "/accounts/confirm-email/"
    assert name(client) == "AnonymousUser"
    log_in(client, "new@example.org")
    assert name(client) == "AnonymousUser"
    link = link_in_mail()
    assert b"<form" in client.get(link).content
    client.post(link)
    log_in(client, "NEW@example.org")
    assert name(client) == "new@example.org"


def test_reading_a_link_confirms_nothing(client: Client) -> None:
    client.post("/accounts/signup/", SIGN_UP)
    client.get(link_in_mail())
    log_in(client, "new@example.org")
    assert name(client) == "AnonymousUser"


def test_signing_up_tells_nobody_who_has_an_account(client: Client, ada: User) -> None:
    there = client.post("/accounts/signup/", SIGN_UP | {"email": ada.email})
    new = client.post("/accounts/signup/", SIGN_UP)
    assert (there.status_code, there.headers["Location"]) == (
        new.status_code,
        new.headers["Location"],
    )
    assert [message.to for message in mail.outbox] == [[ada.email], ["new@example.org"]]
    assert User.objects.count() == 2


def test_a_wrong_password_and_an_unknown_address_look_the_same(client: Client, ada: User) -> None:
    wrong = log_in(client, ada.email, "not the passphrase").context["form"].errors
    unknown = log_in(client, "nobody@example.org").context["form"].errors
    assert wrong == unknown != {}


def test_a_new_password_by_mail(client: Client, ada: User) -> None:
    for email in ("nobody@example.org", ada.email):
        answer = client.post("/accounts/password/reset/", {"email": email})
        assert answer.headers["Location"] == "/accounts/password/reset/done/"
    wait_for_deliveries()
    assert [message.to for message in mail.outbox] == [[ada.email]]
    form = client.get(link_in_mail(), follow=True).request["PATH_INFO"]
    new = "quite another passphrase"
    client.post(form, {"password1": new, "password2": new})
    log_in(client, ada.email, new)
    assert name(client) == ada.email


def test_guessing_ends_soon(client: Client, ada: User) -> None:
    for _ in range(5):
        log_in(client, ada.email, "a guess")
    log_in(client, ada.email)
    assert name(client) == "AnonymousUser"


def test_a_header_that_the_client_writes_does_not_reset_the_limit(
    client: Client, ada: User
) -> None:
    for number in range(11):
        client.post(
            "/accounts/login/",
            {"login": f"guess{number}@example.org", "password": "a guess"},
            headers={"X-Forwarded-For": f"203.0.113.{number}"},
        )
    log_in(client, ada.email)
    assert name(client) == "AnonymousUser"


def test_an_inactive_user_stays_out(client: Client, ada: User) -> None:
    ada.is_active = False
    ada.save()
    log_in(client, ada.email)
    assert name(client) == "AnonymousUser"


def test_a_second_factor_is_asked_for(client: Client, ada: User, second_factor: Activate) -> None:
    secret = second_factor(ada)
    assert log_in(client, ada.email).headers["Location"] == "/accounts/2fa/authenticate/"
    assert name(client) == "AnonymousUser"
    client.post("/accounts/2fa/authenticate/", {"code": "000000"})
    assert name(client) == "AnonymousUser"
    client.post("/accounts/2fa/authenticate/", {"code": code(secret)})
    assert name(client) == ada.email


@pytest.mark.django_db(transaction=True)
def test_setting_up_an_authenticator_application(ada: User, sign_in: SignIn) -> None:
    client = sign_in(ada)
    secret = client.get("/accounts/2fa/totp/activate/").context["form"].secret
    client.post("/accounts/2fa/totp/activate/", {"code": code(secret)})
    assert mail.outbox[-1].to == [ada.email]
    codes = client.get("/accounts/2fa/recovery-codes/").context["unused_codes"]
    other = Client()
    log_in(other, ada.email)
    other.post("/accounts/2fa/authenticate/", {"code": codes[0]})
    assert name(other) == ada.email


def test_setting_one_up_asks_for_the_password_again(ada: User, sign_in: SignIn) -> None:
    client = sign_in(ada, confirmed=False)
    answer = client.get("/accounts/2fa/totp/activate/")
    assert answer.headers["Location"].startswith("/accounts/reauthenticate/")


def test_other_sessions_can_be_ended(ada: User, sign_in: SignIn) -> None:
    here, there = sign_in(ada), sign_in(ada)
    here.post("/accounts/sessions/")
    assert (name(here), name(there)) == (ada.email, "AnonymousUser")


def test_a_changed_address_counts_once_it_is_confirmed(ada: User, sign_in: SignIn) -> None:
    client = sign_in(ada)
    client.post("/accounts/email/", {"action_add": "", "email": "countess@example.org"})
    ada.refresh_from_db()
    assert ada.email == "ada@example.org"
    assert b"countess@example.org" in client.get("/accounts/email/").content
    confirmation = next(m for m in mail.outbox if m.to == ["countess@example.org"])
    mail.outbox.append(confirmation)
    client.post(link_in_mail())
    ada.refresh_from_db()
    assert ada.email == "countess@example.org"


def test_mail_speaks_its_readers_language(client: Client, ada: User) -> None:
    User.objects.filter(pk=ada.pk).update(language="tr")
    client.post(
        "/accounts/password/reset/", {"email": ada.email}, headers={"Accept-Language": "en"}
    )
    wait_for_deliveries()
    assert "Şifre" in mail.outbox[-1].subject


def test_a_new_users_language_is_the_one_they_signed_up_in(client: Client) -> None:
    client.post("/accounts/signup/", SIGN_UP, headers={"Accept-Language": "tr"})
    assert User.objects.get().language == "tr"


def test_signing_up_survives_a_mail_server_that_is_away(
    client: Client, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 9
    answer = client.post("/accounts/signup/", SIGN_UP)
    assert answer.headers["Location"] == "/accounts/confirm-email/"
    assert "could not send account/email/email_confirmation_signup" in caplog.text


def test_how_long_the_mail_takes_tells_nobody_who_has_an_account(
    client: Client, ada: User, settings: Settings
) -> None:
    """The answer is there while the mail server, which says nothing yet, has the mail to take."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = silent.getsockname()[:2]
        settings.EMAIL_TIMEOUT = 60
        client.post("/accounts/password/reset/", {"email": ada.email})
        after_it = DELIVERIES.submit(lambda: None)
        caller, _address = silent.accept()
        assert not after_it.done()
        caller.close()
    after_it.result()


def test_a_session_ends(ada: User, sign_in: SignIn) -> None:
    client = sign_in(ada)
    client.post("/accounts/logout/")
    assert name(client) == "AnonymousUser"
