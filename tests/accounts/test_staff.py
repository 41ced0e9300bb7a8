import time

import pytest
from allauth.mfa.models import Authenticator
from django.contrib.admin import site
from django.contrib.admin.utils import flatten_fieldsets
from django.core.management import call_command
from django.test import Client, RequestFactory
from django.utils import translation
from pytest_django import Settings

from accounts.create_admin import create_admin
from accounts.models import User
from accounts.staff import SHOWN_FOR_S
from tests.accounts.conftest import Activate, SignIn
from tests.accounts.people import PASSWORD, code

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def as_in_production(settings: Settings) -> None:
    settings.STAFF_NEED_SECOND_FACTOR = True


@pytest.fixture
def admin() -> User:
    return create_admin("admin@example.org", PASSWORD)


def test_the_administration_has_no_door_of_its_own(client: Client) -> None:
    first = client.get("/admin/")
    assert first.headers["Location"] == "/admin/login/?next=/admin/"
    second = client.get(first.headers["Location"])
    assert second.headers["Location"] == "/accounts/login/?next=%2Fadmin%2F"
    form = {"username": "admin@example.org", "password": PASSWORD}
    assert client.post("/admin/login/", form).status_code == 302
    assert client.get("/admin/").status_code == 302


def test_a_new_administrator_sets_up_a_second_factor_first(admin: User, sign_in: SignIn) -> None:
    client = sign_in(admin)
    for path in ("/admin/", "/admin/accounts/user/", "/admin/logout/"):
        assert client.get(path).headers["Location"] == "/accounts/2fa/"
    assert b"asks for a second factor" in client.get("/accounts/2fa/").content
    secret = client.get("/accounts/2fa/totp/activate/").context["form"].secret
    client.post("/accounts/2fa/totp/activate/", {"code": code(secret)})
    assert show_it(client, secret).status_code == 200


def show_it(client: Client, secret: str):
    """Be sent from the administration to show the second factor, and come back."""
    asked = client.get("/admin/accounts/user/?q=ada")
    there = "/accounts/2fa/reauthenticate/?next=%2Fadmin%2Faccounts%2Fuser%2F%3Fq%3Dada"
    assert asked.headers["Location"] == there
    form = {"code": code(secret), "next": "/admin/accounts/user/?q=ada"}
    return client.post(there, form, follow=True)


def test_a_session_from_before_the_second_factor_has_to_show_it(
    admin: User, sign_in: SignIn, second_factor: Activate
) -> None:
    """Else a stolen password, used in time, would outlive the factor that is set up against it."""
    client = sign_in(admin)
    secret = second_factor(admin)
    wrong = {"code": "000000", "next": "/admin/"}
    client.post("/accounts/2fa/reauthenticate/", wrong)
    client.post("/accounts/reauthenticate/", {"password": PASSWORD})
    assert client.get("/admin/").status_code == 302
    assert b"Ada" not in client.get("/admin/").content
    assert show_it(client, secret).status_code == 200


def test_after_a_day_it_is_shown_again(
    admin: User, sign_in: SignIn, second_factor: Activate, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = second_factor(admin)
    client = sign_in(admin, confirmed=False)
    client.post("/accounts/2fa/authenticate/", {"code": code(secret)})
    assert client.get("/admin/").status_code == 200
    now = time.time()
    monkeypatch.setattr("accounts.staff.time.time", lambda: now + SHOWN_FOR_S + 1)
    assert client.get("/admin/").headers["Location"].startswith("/accounts/2fa/reauthenticate/")


def test_a_security_key_is_asked_for_where_there_is_one_only(admin: User, sign_in: SignIn) -> None:
    client = sign_in(admin)
    data = {"name": "key", "credential": {}}
    Authenticator.objects.create(user=admin, type=Authenticator.Type.WEBAUTHN, data=data)
    there = client.get("/admin/").headers["Location"]
    assert there == "/accounts/2fa/webauthn/reauthenticate/?next=%2Fadmin%2F"


def test_signed_in_with_a_second_factor_they_are_in(
    admin: User, sign_in: SignIn, second_factor: Activate
) -> None:
    secret = second_factor(admin)
    client = sign_in(admin, confirmed=False)
    assert client.get("/admin/").status_code == 302
    client.post("/accounts/2fa/authenticate/", {"code": code(secret)})
    assert client.get("/admin/").status_code == 200


def test_others_stay_out(ada: User, sign_in: SignIn, second_factor: Activate) -> None:
    client = sign_in(ada)
    second_factor(ada)
    assert client.get("/admin/").headers["Location"] == "/admin/login/?next=/admin/"
    assert client.get("/admin/login/").status_code == 403


def test_createsuperuser_makes_somebody_who_can_sign_in(
    sign_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DJANGO_SUPERUSER_PASSWORD", PASSWORD)
    call_command("createsuperuser", interactive=False, email="root@example.org", verbosity=0)
    client = sign_in(User.objects.get())
    assert client.get("/admin/").headers["Location"] == "/accounts/2fa/"


@pytest.mark.parametrize("app", ["accounts", "portal"])
def test_the_administration_names_things_in_turkish(app: str) -> None:
    """Whatever one of its pages shows by the name of the model's field."""
    for model, pages in site._registry.items():
        if model._meta.app_label != app:
            continue
        request = RequestFactory().get("/")
        request.user = User(is_superuser=True, is_staff=True, is_active=True)
        shown = {*flatten_fieldsets(pages.get_fieldsets(request)), *pages.get_list_display(request)}
        fields = [field for field in model._meta.fields if field.name in shown]
        assert fields
        with translation.override("tr"):
            turkish = [str(field.verbose_name) for field in fields]
        assert not {str(field.verbose_name) for field in fields} & set(turkish)


def test_nobody_reads_secrets_in_the_administration(
    admin: User, sign_in: SignIn, second_factor: Activate
) -> None:
    secret = second_factor(admin)
    client = sign_in(admin, confirmed=False)
    client.post("/accounts/2fa/authenticate/", {"code": code(secret)})
    page = client.get("/admin/").content
    assert b"Audit events" in page
    for secret_rows in (b"Authenticators", b"Social application tokens", b"User sessions"):
        assert secret_rows not in page
