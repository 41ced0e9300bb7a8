"""Every page of an account: it answers, in the site's frame, with nothing that the policy stops."""

import re
from urllib.parse import unquote

import pytest
from django.test import Client

from accounts.models import User
from tests.accounts.conftest import Activate, SignIn
from tests.inline import Inline

FOR_ALL = ["login/", "signup/", "password/reset/", "password/reset/done/", "confirm-email/",
           "inactive/", "password/reset/key/done/"]  # fmt: skip
FOR_ONE = ["settings/", "email/", "password/change/", "2fa/", "2fa/totp/activate/",
           "2fa/webauthn/", "2fa/webauthn/add/", "sessions/", "logout/", "data/", "delete/",
           "reauthenticate/", "3rdparty/"]  # fmt: skip
WITH_FACTOR = ["2fa/", "2fa/totp/deactivate/", "2fa/recovery-codes/",
               "2fa/recovery-codes/generate/"]  # fmt: skip


def assert_is_ours(client: Client, path: str) -> None:
    page = client.get(f"/accounts/{path}")
    html = page.content.decode()
    assert page.status_code == 200
    assert html.count("<h1>") == 1
    assert re.search(r"<title>\s*\S[^<]*· Modelen</title>", html)
    assert "css/forms.css" in html
    inline = Inline()
    inline.feed(html)
    assert inline.found == []
    assert "'unsafe" not in page.headers["Content-Security-Policy"]


@pytest.mark.django_db
@pytest.mark.parametrize("path", FOR_ALL)
def test_a_visitor_reads(path: str, client: Client) -> None:
    assert_is_ours(client, path)


@pytest.mark.parametrize("path", FOR_ONE)
def test_an_owner_reads(path: str, ada: User, sign_in: SignIn) -> None:
    assert_is_ours(sign_in(ada), path)


@pytest.mark.parametrize("path", FOR_ONE)
def test_a_visitor_is_sent_to_sign_in(path: str, db: None, client: Client) -> None:
    answer = client.get(f"/accounts/{path}")
    there = "/" if path == "logout/" else f"/accounts/login/?next=/accounts/{path}"
    assert (answer.status_code, unquote(answer.headers["Location"])) == (302, there)


@pytest.mark.parametrize("path", WITH_FACTOR)
def test_somebody_with_a_second_factor_reads(
    path: str, ada: User, sign_in: SignIn, second_factor: Activate
) -> None:
    client = sign_in(ada)
    second_factor(ada)
    if path == "2fa/recovery-codes/":
        client.post("/accounts/2fa/recovery-codes/generate/")
    assert_is_ours(client, path)


def test_the_second_step_of_signing_in(ada: User, second_factor: Activate, sign_in: SignIn) -> None:
    second_factor(ada)
    assert_is_ours(sign_in(ada), "2fa/authenticate/")


@pytest.mark.django_db
def test_in_turkish_too(client: Client) -> None:
    page = client.get("/accounts/login/", headers={"Accept-Language": "tr"})
    assert 'lang="tr"' in page.content.decode()
    assert "Giriş" in page.content.decode()
