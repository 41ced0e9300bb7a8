import base64
import secrets
from collections.abc import Callable

import pytest
from allauth.mfa.totp.internal.auth import TOTP
from django.core.cache import cache
from django.test import Client

from accounts.addresses import verify_address
from accounts.models import User
from tests.accounts.people import PASSWORD

SignIn = Callable[..., Client]
Activate = Callable[[User], str]


@pytest.fixture(autouse=True)
def nothing_counted_yet() -> None:
    """Rate limits are in the cache, which outlives a test."""
    cache.clear()


@pytest.fixture
def ada(db: None) -> User:
    user = User.objects.create_user("ada@example.org", PASSWORD)
    verify_address(user)
    return user


@pytest.fixture
def sign_in() -> SignIn:
    """Sign in by the form, as a person does, and by default confirm it once more."""

    def sign_in(user: User, confirmed: bool = True) -> Client:
        client = Client()
        form = {"login": user.email, "password": PASSWORD}
        assert client.post("/accounts/login/", form).status_code == 302
        if confirmed:
            client.post("/accounts/reauthenticate/", {"password": PASSWORD})
        return client

    return sign_in


@pytest.fixture
def second_factor() -> Activate:
    """Give a user an authenticator application; returns its secret."""

    def activate(user: User) -> str:
        secret = base64.b32encode(secrets.token_bytes(20)).decode()
        TOTP.activate(user, secret)
        return secret

    return activate
