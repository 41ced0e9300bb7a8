import pytest
from django.contrib.auth import authenticate
from django.core.exceptions import ValidationError
from django.db import IntegrityError
from django.test import Client

from accounts.create_admin import create_admin
from accounts.models import User

pytestmark = pytest.mark.django_db
PASSWORD = "a long enough passphrase"


@pytest.mark.parametrize("login", ["ada@example.org", "ADA@Example.org"])
def test_a_user_signs_in_with_their_address_in_any_case(login: str) -> None:
    user = User.objects.create_user("Ada@example.org", PASSWORD)
    assert authenticate(username=login, password=PASSWORD) == user
    assert authenticate(username=login, password="wrong") is None


def test_an_address_has_one_account_in_any_case() -> None:
    User.objects.create_user("ada@example.org", PASSWORD)
    with pytest.raises(ValidationError, match="already"):
        User(email="ADA@example.org", password="x").full_clean()
    with pytest.raises(IntegrityError):
        User.objects.create_user("ADA@example.org", PASSWORD)


def test_a_user_needs_an_address() -> None:
    with pytest.raises(ValueError, match="e-mail"):
        User.objects.create_user("")


def test_without_a_password_nobody_signs_in() -> None:
    user = User.objects.create_user("ada@example.org")
    assert not user.has_usable_password()


def test_an_inactive_user_stays_out() -> None:
    User.objects.create_user("ada@example.org", PASSWORD, is_active=False)
    assert authenticate(username="ada@example.org", password=PASSWORD) is None


def test_create_admin_makes_one_and_may_run_again() -> None:
    first = create_admin("admin@example.org", PASSWORD)
    assert first.is_staff and first.is_superuser
    again = create_admin("ADMIN@example.org", "another long passphrase")
    assert again == first
    assert authenticate(username="admin@example.org", password="another long passphrase") == first


def test_create_admin_promotes_somebody_who_is_there() -> None:
    user = User.objects.create_user("ada@example.org", PASSWORD, is_active=False)
    create_admin("ada@example.org", PASSWORD)
    user.refresh_from_db()
    assert user.is_staff and user.is_superuser and user.is_active


def test_the_administration_lists_and_adds_users(client: Client) -> None:
    client.force_login(create_admin("admin@example.org", PASSWORD))
    assert b"admin@example.org" in client.get("/admin/accounts/user/").content
    added = client.post(
        "/admin/accounts/user/add/",
        {
            "email": "new@example.org",
            "name": "",
            "usable_password": "true",
            "password1": PASSWORD,
            "password2": PASSWORD,
        },
    )
    assert added.status_code == 302
    user = User.objects.get(email="new@example.org")
    assert client.get(f"/admin/accounts/user/{user.pk}/change/").status_code == 200


def test_a_user_who_is_no_staff_stays_out_of_the_administration(client: Client) -> None:
    client.force_login(User.objects.create_user("ada@example.org", PASSWORD))
    assert client.get("/admin/").status_code == 302
