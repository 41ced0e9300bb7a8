from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import Client

from modelen_site import environment

PATH = "/.well-known/security.txt"


def test_nobody_to_report_to_is_no_file(client: Client) -> None:
    assert client.get(PATH).status_code == 404


def test_it_has_what_the_standard_asks_for(client: Client, settings: Any) -> None:
    settings.SECURITY_CONTACTS = ["mailto:security@example.org", "https://example.org/report"]
    answer = client.get(PATH)
    assert answer["Content-Type"] == "text/plain; charset=utf-8"
    fields = [line.split(": ", 1) for line in answer.content.decode().splitlines()]
    expires = datetime.fromisoformat(dict(fields)["Expires"])
    assert timedelta(days=30) < expires - datetime.now(UTC) < timedelta(days=365)
    assert [field for field in fields if field[0] != "Expires"] == [
        ["Contact", "mailto:security@example.org"],
        ["Contact", "https://example.org/report"],
        ["Preferred-Languages", "en, tr"],
        ["Canonical", f"http://testserver{PATH}"],
    ]
    assert client.post(PATH).status_code == 405


def test_contacts_are_read_from_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    assert environment.contacts("MODELEN_SECURITY_CONTACT") == []
    monkeypatch.setenv("MODELEN_SECURITY_CONTACT", "mailto:a@example.org, tel:+90-312-555")
    found = environment.contacts("MODELEN_SECURITY_CONTACT")
    assert found == ["mailto:a@example.org", "tel:+90-312-555"]


@pytest.mark.parametrize(
    "contact", ["a@example.org", "http://example.org", "mailto:", "mailto:a@b\nExpires: never"]
)
def test_what_nobody_could_follow_is_refused(monkeypatch: pytest.MonkeyPatch, contact: str) -> None:
    monkeypatch.setenv("MODELEN_SECURITY_CONTACT", contact)
    with pytest.raises(ImproperlyConfigured, match="write mailto:"):
        environment.contacts("MODELEN_SECURITY_CONTACT")
