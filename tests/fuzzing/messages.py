"""JSON messages in hostile hands."""

import json
import random
from typing import Any

STRINGS = (
    "",
    "a",
    "5",
    "x" * 5000,
    "\x00",
    "\ud800",
    "é\u202e",
    "../..",
    "//evil.example/x",
    "/a/%2e%2e/b",
    "http://evil.example/",
    "/adaptor?tur=1",
    "0" * 64,
    "A" * 64,
    "9999-12-31T23:59:59Z",
    "0001-01-01T00:00:00+14:00",
    "2026-13-45T99:99:99Z",
    "2026-01-01T00:00:00",
    "egit",
    "olc",
    "on_isle",
    "ham",
)
NUMBERS = (0, 1, -1, 2, 5, 2**31, 2**53, 2**53 - 1, 2**63, 2**64, 10**30, 0.5, -0.5, 1e308, 1e-320)
OTHERS = (True, False, None, float("nan"), float("inf"), [], {}, [[]], {"a": {}}, ["ham"] * 50)
LEAVES: tuple[Any, ...] = (*STRINGS, *NUMBERS, *OTHERS)


def changed(value: Any, draw: random.Random) -> Any:
    """``value`` with one of its nodes replaced, removed, or a member more."""
    if isinstance(value, dict) and value and draw.random() < 0.9:
        key = draw.choice(list(value))
        rest = {k: v for k, v in value.items() if k != key}
        kind = draw.random()
        if kind < 0.15:
            return rest
        if kind < 0.25:
            return value | {draw.choice(STRINGS): draw.choice(LEAVES)}
        return value | {key: changed(value[key], draw)}
    if isinstance(value, list) and value and draw.random() < 0.5:
        place = draw.randrange(len(value))
        return [*value[:place], changed(value[place], draw), *value[place + 1 :]]
    if isinstance(value, int) and not isinstance(value, bool) and draw.random() < 0.5:
        return value + draw.choice((-1, 1, 10**4, -(10**4), 10**9, 0.5))
    if isinstance(value, str) and draw.random() < 0.3:
        return value + draw.choice(STRINGS)
    return draw.choice(LEAVES)


def several_changes(value: Any, draw: random.Random) -> Any:
    for _ in range(draw.choice((0, 1, 1, 1, 2, 4))):
        value = changed(value, draw)
    return value


def spoilt(body: bytes, draw: random.Random) -> bytes:
    """Some bytes of a body are others, or it is no JSON at all."""
    place = draw.randrange(len(body) + 1)
    return draw.choice(
        (
            body[:place],
            body[:place] + draw.randbytes(3) + body[place:],
            body + body,
            b"[" * 20_000,
            b'{"a":' * 5_000,
            b"\xef\xbb\xbf" + body,
            body.decode("utf-8", "replace").encode("utf-16"),
            b"1" * 5000,
            b'{"tur": 1, ' + body[1:],
            b"<html>" + body,
            b"",
        )
    )


def mutated(value: Any, draw: random.Random) -> bytes:
    """``value`` as JSON after a few changes."""
    body = json.dumps(several_changes(value, draw)).encode()
    return spoilt(body, draw) if draw.random() < 0.15 else body
