import os
import stat
from concurrent.futures import ThreadPoolExecutor
from ipaddress import ip_network
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from modelen_site import environment

GOOD = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNO"


@pytest.mark.parametrize(
    ("value", "expected"), [("1", True), ("Yes", True), ("0", False), ("", False), ("off", False)]
)
def test_a_flag_is_yes_or_no(monkeypatch: pytest.MonkeyPatch, value: str, expected: bool) -> None:
    monkeypatch.setenv("MODELEN_X", value)
    assert environment.flag("MODELEN_X", default=not expected) is expected


def test_a_flag_that_is_neither_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODELEN_X", "maybe")
    with pytest.raises(ImproperlyConfigured, match="MODELEN_X is 'maybe'; write 1 or 0"):
        environment.flag("MODELEN_X")


@pytest.mark.parametrize("value", ["-1", "1.5", "many", "", "٣"])
def test_a_number_is_whole(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("MODELEN_X", value)
    with pytest.raises(ImproperlyConfigured, match="whole number"):
        environment.number("MODELEN_X", 7)


@pytest.mark.parametrize("value", ["short", "x" * 31, "y" * 40 + " ", "ü" * 40])
def test_a_token_is_long_and_visible(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    assert environment.token("MODELEN_X") == ""
    monkeypatch.setenv("MODELEN_X", GOOD)
    assert environment.token("MODELEN_X") == GOOD
    monkeypatch.setenv("MODELEN_X", value)
    with pytest.raises(ImproperlyConfigured, match="at least 32 random characters"):
        environment.token("MODELEN_X")


def test_words_are_split_and_trimmed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODELEN_X", " a.example ,b.example,")
    assert environment.words("MODELEN_X") == ["a.example", "b.example"]
    monkeypatch.delenv("MODELEN_X")
    assert environment.words("MODELEN_X", default=["c"]) == ["c"]


def test_networks_are_networks_or_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert environment.networks("MODELEN_X") == []
    monkeypatch.setenv("MODELEN_X", "192.0.2.0/24, 2001:db8::/32")
    assert environment.networks("MODELEN_X") == [
        ip_network("192.0.2.0/24"),
        ip_network("2001:db8::/32"),
    ]
    for value in ("192.0.2.1/24", "example.org"):
        monkeypatch.setenv("MODELEN_X", value)
        with pytest.raises(ImproperlyConfigured, match="192.0.2.0/24"):
            environment.networks("MODELEN_X")


@pytest.mark.parametrize("secret", ["", "short", "a" * 60, "django-insecure-" + GOOD])
def test_a_weak_secret_is_refused_with_the_remedy(secret: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="token_urlsafe"):
        environment.check_secret(secret)


def test_a_kept_secret_stays_and_is_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "var" / "secret_key"
    first = environment.kept_secret(path)
    assert environment.kept_secret(path) == first
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(path.parent) == ["secret_key"]


def test_processes_that_start_at_once_agree_on_the_secret(tmp_path: Path) -> None:
    path = tmp_path / "secret_key"
    with ThreadPoolExecutor(16) as threads:
        secrets = set(threads.map(lambda _: environment.kept_secret(path), range(64)))
    assert len(secrets) == 1
