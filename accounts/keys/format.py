"""How a key is written: ``mdl_``, 32 random base62 characters, and 6 for their CRC32.

The checksum lets typing errors and junk be told from keys without a look at the database, and lets
scanners of public code recognise a leaked one: ``mdl_[0-9A-Za-z]{38}``.
"""

import hashlib
import re
import secrets
import string
from zlib import crc32

PREFIX = "mdl_"
RANDOM = 32  # characters: 190 bits
CHECK = 6  # characters: enough for 32 bits
ID = 8  # characters of the random part, which may be shown; 24 stay secret
_DIGITS = string.digits + string.ascii_uppercase + string.ascii_lowercase
_SHAPE = re.compile(rf"{PREFIX}[0-9A-Za-z]{{{RANDOM + CHECK}}}")


def make() -> str:
    """Return a new random key."""
    body = "".join(secrets.choice(_DIGITS) for _ in range(RANDOM))
    return PREFIX + body + checksum(body)


def well_formed(secret: str) -> bool:
    """Whether this could be a key: its shape and its checksum are right."""
    if not _SHAPE.fullmatch(secret):
        return False
    body, check = secret[len(PREFIX) : -CHECK], secret[-CHECK:]
    return checksum(body) == check


def checksum(body: str) -> str:
    """Return the CRC32 of the random part in base62, most significant digit first."""
    number, digits = crc32(body.encode("ascii")), ""
    for _ in range(CHECK):
        number, digit = divmod(number, len(_DIGITS))
        digits = _DIGITS[digit] + digits
    return digits


def public_id(secret: str) -> str:
    """Return the part by which a key is looked up and shown to its owner."""
    return secret[len(PREFIX) : len(PREFIX) + ID]


def digest(secret: str) -> str:
    """Return what is kept of a key: its SHA-256 as hexadecimal digits.

    A slow password hash would add nothing against 190 random bits, and would cost every request.
    """
    return hashlib.sha256(secret.encode("ascii")).hexdigest()
