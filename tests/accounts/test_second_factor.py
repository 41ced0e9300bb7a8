"""Secrets of second factors lie encrypted in the database."""

import importlib
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP
from django.apps import apps
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from pytest_django import Settings

from accounts.models import User
from accounts.second_factor import MFAAdapter
from tests.accounts.people import code

pytestmark = pytest.mark.django_db
SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"
OLD, NEW = "an old secret " * 5, "a new secret " * 5


def kept() -> str:
    return str(list(Authenticator.objects.values_list("data", flat=True)))


def works(user: User) -> bool:
    factor = Authenticator.objects.get(user=user, type=Authenticator.Type.TOTP)
    return TOTP(factor).validate_code(code(SECRET))


def test_neither_secret_nor_seed_is_readable(ada: User) -> None:
    TOTP.activate(ada, SECRET)
    codes = RecoveryCodes.activate(ada)
    seed = MFAAdapter().decrypt(codes.instance.data["seed"])
    assert SECRET not in kept() and seed not in kept()
    assert works(ada)
    assert RecoveryCodes(Authenticator.objects.get(type="recovery_codes")).validate_code(
        codes.generate_codes()[0]
    )


def test_a_former_secret_still_opens_and_a_command_retires_it(
    ada: User, settings: Settings, capsys: pytest.CaptureFixture
) -> None:
    settings.SECOND_FACTOR_SECRETS = [OLD]
    TOTP.activate(ada, SECRET)
    RecoveryCodes.activate(ada)
    settings.SECOND_FACTOR_SECRETS = [NEW, OLD]
    assert works(ada)
    call_command("renew_second_factors")
    assert "2 second factors" in capsys.readouterr().out
    settings.SECOND_FACTOR_SECRETS = [NEW]
    assert TOTP(Authenticator.objects.get(type="totp")).validate_code("000000") is False
    assert len(RecoveryCodes(Authenticator.objects.get(type="recovery_codes")).get_unused_codes())


def test_a_secret_that_is_gone_says_what_to_do(ada: User, settings: Settings) -> None:
    settings.SECOND_FACTOR_SECRETS = [OLD]
    TOTP.activate(ada, SECRET)
    settings.SECOND_FACTOR_SECRETS = [NEW]
    with pytest.raises(ImproperlyConfigured, match="MODELEN_SECRET_KEY_FALLBACKS"):
        works(ada)


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("totp", {"secret": SECRET}),
        ("recovery_codes", {"seed": "0f" * 40, "used_mask": 2}),
        ("recovery_codes", {"migrated_codes": ["12345678"]}),
        ("webauthn", {"name": "key", "credential": {"id": "abc"}}),
    ],
)
def test_the_migration_encrypts_what_lay_in_the_clear(
    ada: User, kind: str, data: dict[str, Any]
) -> None:
    factor = Authenticator.objects.create(user=ada, type=kind, data=data)
    importlib.import_module("accounts.migrations.0003_encrypt_second_factors").encrypt(apps, None)
    factor.refresh_from_db()
    assert factor.data.keys() == data.keys()
    assert (factor.data == data) == (kind == "webauthn")
    if kind == "totp":
        assert MFAAdapter().decrypt(factor.data["secret"]) == SECRET
