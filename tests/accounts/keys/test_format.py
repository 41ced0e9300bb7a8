import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounts.keys import format
from modelen_site.logs import redact


def test_a_key_is_well_formed_and_selected_by_a_double_click() -> None:
    secret = format.make()
    assert len(secret) == 42 and secret.startswith("mdl_")
    assert secret.replace("_", "").isalnum() and secret.isascii()
    assert format.well_formed(secret)
    assert format.make() != secret


def test_the_checksum_is_crc32_in_base62() -> None:
    """CRC32's published check value is 0xCBF43926 for the digits 1 to 9."""
    digits = string.digits + string.ascii_uppercase + string.ascii_lowercase
    number = 0
    for digit in format.checksum("123456789"):
        number = number * 62 + digits.index(digit)
    assert number == 0xCBF43926


@given(st.integers(4, 41), st.sampled_from("0Az9"))
def test_one_wrong_character_is_noticed(place: int, other: str) -> None:
    secret = format.make()
    changed = secret[:place] + other + secret[place + 1 :]
    assert format.well_formed(changed) == (changed == secret)


@given(st.text(max_size=60))
def test_junk_is_no_key(text: str) -> None:
    assert not format.well_formed(text)


@pytest.mark.parametrize("change", [lambda s: s + "\n", lambda s: " " + s, lambda s: s[:-1]])
def test_nothing_stands_around_a_key(change) -> None:
    assert not format.well_formed(change(format.make()))


def test_the_log_never_shows_one() -> None:
    secret = format.make()
    assert secret[4:] not in redact(f"Authorization: Bearer {secret} {secret}")
