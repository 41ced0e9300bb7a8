"""What people do and see in these tests."""

import base64
import hmac
import re
import struct
import time

from django.core import mail

from accounts.adapter import DELIVERIES

PASSWORD = "a long enough passphrase"


def link_in_mail() -> str:
    """The first link of the newest mail, without its host."""
    wait_for_deliveries()
    found = re.search(r"https?://[^/\s]+(/\S+)", str(mail.outbox[-1].body))
    assert found, mail.outbox[-1].body
    return found[1]


def wait_for_deliveries() -> None:
    """Return when what goes out beside an answer is out: deliveries go one after another."""
    DELIVERIES.submit(lambda: None).result()


def code(secret: str) -> str:
    """What an authenticator application shows now (RFC 6238)."""
    steps = struct.pack(">Q", int(time.time()) // 30)
    digest = hmac.digest(base64.b32decode(secret), steps, "sha1")
    start = digest[-1] & 15
    value = int.from_bytes(digest[start : start + 4], "big") & 0x7FFFFFFF
    return f"{value % 10**6:06}"
