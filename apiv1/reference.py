"""The committed description as plain data for a page: no script, no CDN, and readable by all, in
their language: its texts are message ids of the catalogues.

Ready-made viewers were tried: Swagger UI fails accessibility checks, Redoc needs inline styles.
"""

import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from django.utils.translation import get_language, gettext, gettext_lazy

OPENAPI = Path(__file__).resolve().parent / "openapi.json"
METHODS = ("get", "post", "put", "patch", "delete")


@dataclass(frozen=True)
class Member:
    """A parameter, or a member of an object. ``links_to`` names the schema that says more."""

    name: str
    kind: str
    links_to: str
    place: str
    required: bool
    text: str


@dataclass(frozen=True)
class Answer:
    status: str
    text: str
    schema: str


@dataclass(frozen=True)
class Operation:
    id: str
    method: str
    path: str
    title: str
    text: str
    scope: str
    parameters: list[Member]
    takes: str
    answers: list[Answer]


@dataclass(frozen=True)
class Schema:
    """An object with members, or a string that has one of the ``values``."""

    name: str
    members: list[Member]
    values: list[str]


@dataclass(frozen=True)
class Reference:
    """``groups`` has the operations by their tag's name for people, in its order."""

    groups: list[tuple[str, str, list[Operation]]]
    schemas: list[Schema]


TAGS = {
    "profile": gettext_lazy("Profile"),
    "coordinators": gettext_lazy("Coordinators"),
    "verification": gettext_lazy("Verification"),
    "heartbeat": gettext_lazy("Heartbeat"),
    "keys": gettext_lazy("API keys"),
    "directory": gettext_lazy("Directory"),
}
PLACES = {
    "path": gettext_lazy("in the path"),
    "query": gettext_lazy("in the query"),
    "header": gettext_lazy("a header"),
}
_CHOICE = re.compile(r"\* `(?P<value>.+)` - (?P<label>.+)")


def reference() -> Reference:
    """The description in the reader's language."""
    return _reference(get_language() or "en")


@cache
def _reference(language: str) -> Reference:
    """Read it, once per process and language."""
    described = json.loads(OPENAPI.read_text("utf-8"))
    groups: dict[str, list[Operation]] = {}
    for path, operations in described["paths"].items():
        for method in filter(operations.__contains__, METHODS):
            operation = _operation(method, path, operations[method])
            groups.setdefault(operations[method]["tags"][0], []).append(operation)
    schemas = described["components"]["schemas"]
    named = [(tag, str(TAGS[tag]), groups[tag]) for tag in TAGS]
    return Reference(named, [_schema(name, schemas[name]) for name in sorted(schemas)])


def _operation(method: str, path: str, found: dict[str, Any]) -> Operation:
    content = found.get("requestBody", {}).get("content", {})
    scope = found.get("x-scope", "")
    return Operation(
        found["operationId"],
        method.upper(),
        path,
        said(found.get("summary", "")),
        said(found.get("description", "").removesuffix(f"Needs the scope {scope}.")),
        scope,
        [_parameter(parameter) for parameter in found.get("parameters", [])],
        _schema_of(content),
        [
            Answer(status, said(answer["description"]), _schema_of(answer.get("content", {})))
            for status, answer in sorted(found["responses"].items())
        ],
    )


def said(text: str) -> str:
    """The text in the reader's language, choices with what they mean in one line."""
    parts = [part.strip() for part in text.split("\n") if part.strip()]
    choices = [found for part in parts if (found := _CHOICE.fullmatch(part))]
    told = [gettext(part) for part in parts if not _CHOICE.fullmatch(part)]
    told += ["; ".join(f"{each['value']}: {gettext(each['label'])}" for each in choices)]
    return " ".join(filter(None, told))


def _schema_of(content: dict[str, Any]) -> str:
    return next((_kind(media["schema"])[1] for media in content.values()), "")


def _parameter(found: dict[str, Any]) -> Member:
    kind, links_to = _kind(found["schema"])
    required, text = found.get("required", False), said(found.get("description", ""))
    place = str(PLACES[found["in"]])
    return Member(found["name"], kind, links_to, place, required, text)


def _schema(name: str, found: dict[str, Any]) -> Schema:
    required = found.get("required", [])
    members = []
    for member, schema in found.get("properties", {}).items():
        kind, links_to = _kind(schema)
        text = said(schema.get("description", ""))
        members.append(Member(member, kind, links_to, "", member in required, text))
    return Schema(name, members, found.get("enum", []))


def _kind(schema: dict[str, Any]) -> tuple[str, str]:
    """What a value is, in words, and the schema that says more of it."""
    [inner] = schema.get("allOf", [schema])
    if "$ref" in inner:
        links_to = inner["$ref"].rpartition("/")[2]
        kind = links_to
    elif inner.get("type") == "array":
        item, links_to = _kind(inner["items"])
        kind = f"[{item}]"
    else:
        kind, links_to = inner.get("format") or inner.get("type", "any"), ""
    return kind + (" | null" if schema.get("nullable") else ""), links_to
