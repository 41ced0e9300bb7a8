import pytest
from django.core.exceptions import ValidationError
from django.forms import modelform_factory

from accounts.models import User
from portal.listings.edit import begin, edit
from portal.models import Coordinator, Proof
from portal.verification.address import canonical, parse

GOOD = {
    "https://example.org/c/my-run": "https://example.org/c/my-run",
    "https://example.org/c/my-run/": "https://example.org/c/my-run",
    "https://example.org": "https://example.org",
    "https://EXAMPLE.org:443/C/Run": "https://example.org/C/Run",
    "HTTPS://example.org:8443/": "https://example.org:8443",
    "https://xn--rnek-4qa.com.tr/c/a_b~c.d": "https://xn--rnek-4qa.com.tr/c/a_b~c.d",
    "https://1.2.3.example.org": "https://1.2.3.example.org",
    "https://a.xn--p1ai": "https://a.xn--p1ai",
}
BAD = {
    "http://example.org": "scheme",
    "ftp://example.org": "scheme",
    "example.org/c/run": "form",
    "https://": "form",
    "https://example.org/a//b": "path",
    "https://example.org/../b": "path",
    "https://example.org/a/..": "path",
    "https://example.org/a/./b": "path",
    "https://example.org/a%2e%2e": "path",
    "https://example.org/a b": "path",
    "https://example.org/a?": "fragment",
    "https://example.org/a?b=c": "fragment",
    "https://example.org/a#b": "fragment",
    "https://me@example.org": "user",
    "https://me:secret@example.org": "user",
    "https://93.184.215.14": "literal",
    "https://[2606:4700::1111]": "literal",
    "https://[::1]": "literal",
    "https://1.2.3": "literal",
    "https://localhost": "internal",
    "https://coordinator": "internal",
    "https://coordinator.local": "internal",
    "https://coordinator.home.arpa": "internal",
    "https://example.0x1": "name",
    "https://example.org.": "name",
    "https://-a.example.org": "name",
    "https://a_b.example.org": "name",
    "https://a..example.org": "name",
    f"https://{'a' * 64}.example.org": "name",
    f"https://{'a.' * 125}example.org": "name",
    "https://example.org:80": "port",
    "https://example.org:8000": "port",
    "https://example.org:": "form",
    "https://örnek.com.tr": "ascii",
    "https://example.org/\n": "ascii",
    f"https://example.org/{'a' * 300}": "ascii",
}


@pytest.mark.parametrize(("written", "kept"), GOOD.items())
def test_one_spelling(written: str, kept: str) -> None:
    assert canonical(written) == kept == canonical(kept)


@pytest.mark.parametrize(("written", "code"), BAD.items())
def test_refused_with_a_reason(written: str, code: str) -> None:
    with pytest.raises(ValidationError) as caught:
        canonical(written)
    assert caught.value.code == code


# --- Development ---------------------------------------------------------------------------------

OWN = {
    "http://127.0.0.1:8000/c/demo": "http://127.0.0.1:8000/c/demo",
    "http://localhost:80/c/demo": "http://localhost/c/demo",
    "http://[::1]:8000": "http://[::1]:8000",
    "https://127.0.0.2:1": "https://127.0.0.2:1",
}


@pytest.mark.parametrize(("written", "kept"), OWN.items())
def test_this_computer_by_setting_only(settings, written: str, kept: str) -> None:
    with pytest.raises(ValidationError):
        canonical(written)
    settings.MODELEN_TRUST_LOOPBACK = True
    assert canonical(written) == kept


@pytest.mark.parametrize(
    "written",
    [url for url in BAD if "localhost" not in url and "[::1]" not in url]
    + ["http://10.0.0.1", "http://169.254.169.254", "http://[::ffff:127.0.0.1]", "http://0.0.0.0"]
    + ["http://a.localhost", "http://localhost.example", "http://127.1", "http://2130706433"]
    + ["http://localhost:0", "http://localhost:65536", "http://me@localhost"],
)
def test_the_setting_relaxes_nothing_else(settings, written: str) -> None:
    settings.MODELEN_TRUST_LOOPBACK = True
    with pytest.raises(ValidationError):
        parse(written)


# --- In listings ---------------------------------------------------------------------------------


def test_a_listing_refuses_it_by_field(operator: User) -> None:
    with pytest.raises(ValidationError) as caught:
        begin(operator, name="Demo", slug="demo", address="https://127.0.0.1/c/demo")
    assert caught.value.message_dict == {"address": ["Write a host name instead of an IP address."]}
    assert not Coordinator.objects.exists()


def test_every_wrong_field_is_told_at_once(operator: User) -> None:
    with pytest.raises(ValidationError) as caught:
        begin(operator, name="", slug="demo", address="https://127.0.0.1", mode="odd")
    assert set(caught.value.message_dict) == {"name", "address", "mode"}
    with pytest.raises(ValidationError) as caught:
        begin(operator, name="Demo", slug="demo", address="")
    assert caught.value.message_dict == {"address": ["This field cannot be blank."]}


def test_a_form_without_the_address_leaves_it_alone(coordinator: Coordinator) -> None:
    coordinator.address = "https://127.0.0.1"
    form = modelform_factory(Coordinator, fields=["name"])({"name": "New"}, instance=coordinator)
    assert form.is_valid() and coordinator.address == "https://127.0.0.1"


def test_a_listing_keeps_the_one_spelling(coordinator: Coordinator, operator: User) -> None:
    edit(coordinator, operator, address="https://Example.org:443/c/demo/")
    coordinator.refresh_from_db()
    assert coordinator.address == "https://example.org/c/demo"


def test_a_changed_address_is_unproven_and_has_another_token(
    coordinator: Coordinator, operator: User
) -> None:
    Coordinator.objects.update(proof=Proof.VERIFIED)
    coordinator.refresh_from_db()
    edit(coordinator, operator, address="https://example.org/c/demo")
    assert coordinator.proof == Proof.UNVERIFIED
    assert coordinator.proof_token != "t" * 43
