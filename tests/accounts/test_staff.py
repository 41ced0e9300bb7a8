import pytest
from django.core.management import call_command
from django.test import Client
from pytest_django import Settings

from accounts.create_admin import create_admin
from accounts.models import User
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
    assert client.get("/admin/").status_code == 200


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


def test_nobody_reads_secrets_in_the_administration(
    admin: User, sign_in: SignIn, second_factor: Activate
) -> None:
    client = sign_in(admin)
    second_factor(admin)
    page = client.get("/admin/").content
    assert b"Audit events" in page
    assert b"Authenticators" not in page and b"Social application tokens" not in page
