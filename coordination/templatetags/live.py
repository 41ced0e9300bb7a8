"""Values on a live page: drawn here once, then kept fresh by ``static/js/live.js``.

Each tag writes the value of a snapshot's field together with the attributes that tell the script
where it came from, so that both draw the same from one description. A tag whose source is empty
(inside a ``<template>``) writes the attributes alone.
"""

import re
from collections.abc import Callable
from datetime import datetime
from typing import Any

from django import template
from django.utils.formats import date_format, number_format
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from coordination.live.trends import LAYERS
from coordination.models import Run
from coordination.templatetags.words import LAYER_NAMES, REFUSALS

register = template.Library()

MISSING = "–"
DIGEST_SHOWN = 12
BYTE_UNITS = ("B", "kB", "MB", "GB", "TB")
PLACEHOLDER = re.compile(r"\{([\w.]+):(\w+)\}")


def field(source: Any, path: str) -> Any:
    """The value at a dotted ``path`` of nested dicts, or None."""
    for key in path.split("."):
        source = source.get(key) if isinstance(source, dict) else None
    return source


def _number(value: float, digits: int, grouping: bool = True) -> str:
    # number_format cuts digits off where people and browsers round.
    return number_format(f"{value:.{digits}f}", digits, force_grouping=grouping)


def as_integer(value: float) -> str:
    return _number(value, 0)


def as_loss(value: float) -> str:
    return _number(value, 4)


def as_tick(value: float) -> str:
    decimals = f"{value:.4f}".rstrip("0").partition(".")[2]
    return _number(value, len(decimals))


def as_bytes(value: float) -> str:
    """Decimal units; one digit after the comma from kB on."""
    for unit in BYTE_UNITS:
        if value < 999.95 or unit == BYTE_UNITS[-1]:
            break
        value /= 1000
    return f"{_number(value, 0 if unit == 'B' else 1, grouping=False)} {unit}"


def as_clock(seconds: float) -> str:
    """``m:ss``, with hours when there are any."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def as_digest(value: str) -> str:
    return value[:DIGEST_SHOWN]


def as_moment(value: str) -> str:
    """An ISO 8601 instant in UTC; the script shows what is left or gone by instead."""
    return f"{date_format(datetime.fromisoformat(value), 'j M H:i')} UTC"


def as_rule(value: str) -> str:
    """The name of a merging rule; with ``!`` after it, of one that stood in for another."""
    name = Run.Rule(value.removesuffix("!")).label
    if not value.endswith("!"):
        return str(name)
    return gettext("%(rule)s (too few results)") % {"rule": name}


def as_refusal(code: str) -> str:
    return str(REFUSALS.get(code, code))


FORMATS: dict[str, Callable[[Any], str]] = {
    "moment": as_moment,
    "integer": as_integer,
    "loss": as_loss,
    "tick": as_tick,
    "bytes": as_bytes,
    "clock": as_clock,
    "digest": as_digest,
    "rule": as_rule,
    "refusal": as_refusal,
    "text": str,
}


@register.filter
def shown(value: Any, how: str) -> str:
    """``value`` in the page's language; ``how`` is one of FORMATS."""
    return MISSING if value is None or value == "" else FORMATS[how](value)


@register.simple_tag
def rule_names() -> SafeString:
    """All that the format ``rule`` can say, hidden, for the script to take it from."""
    values = [value + mark for value in Run.Rule.values for mark in ("", "!")]
    html = '<span hidden data-rule="{}">{}</span>'
    return format_html_join("", html, ((value, as_rule(value)) for value in values))


@register.simple_tag
def refusal_names() -> SafeString:
    """The same for the format ``refusal``."""
    html = '<span hidden data-refusal="{}">{}</span>'
    return format_html_join("", html, REFUSALS.items())


@register.inclusion_tag("coordination/trend.html")
def trend(snapshot: dict, name: str, title: str, summary: str, how: str = "tick") -> dict:
    """One chart of what rounds took; ``summary`` is a message that says the same in words."""
    layers = LAYERS[name]
    paths = [{"name": layer, "path": f"trends.{name}.{layer}"} for layer in reversed(layers)]
    return {
        "snapshot": snapshot,
        "chart": field(snapshot, f"trends.{name}"),
        "path": f"trends.{name}",
        "name": name,
        "title": title,
        "summary": summary,
        "format": how,
        "layers": paths,
        "legend": [(layer, LAYER_NAMES[layer]) for layer in layers if layer in LAYER_NAMES],
    }


@register.simple_tag
def bind(source: Any, path: str, how: str = "text") -> SafeString:
    """The value as text, in a span that the script keeps fresh."""
    text = shown(field(source, path), how) if source else ""
    html = '<span data-bind="{}" data-format="{}">{}</span>'
    return format_html(html, path, how, text)


@register.simple_tag
def bind_text(source: Any, path: str, how: str = "text") -> SafeString:
    """The same inside an SVG ``<text>``."""
    text = shown(field(source, path), how) if source else ""
    html = '<tspan data-bind="{}" data-format="{}">{}</tspan>'
    return format_html(html, path, how, text)


@register.simple_tag
def fill(source: Any, message: str) -> str:
    """``message`` with its ``{path:format}`` placeholders filled in; give the script the same
    message in ``data-message``."""
    if not source:
        return ""
    return PLACEHOLDER.sub(lambda found: shown(field(source, found[1]), found[2]), message)


@register.simple_tag
def bind_attributes(source: Any, **paths: str) -> SafeString:
    """Attributes whose values come from the snapshot: ``width="units.done_width"``."""
    names = ";".join(f"{name}:{path}" for name, path in paths.items())
    values = [(name, field(source, path)) for name, path in paths.items() if source]
    drawn = format_html_join(" ", '{}="{}"', ((n, v) for n, v in values if v is not None))
    return format_html('data-attributes="{}" {}', names, drawn)


@register.simple_tag
def only_in(snapshot: dict, *phases: str) -> SafeString:
    """Show an element in these phases only."""
    hidden = "" if snapshot["phase"] in phases else " hidden"
    return format_html('data-phases="{}"{}', " ".join(phases), hidden)


@register.simple_tag
def only_with(snapshot: dict, path: str) -> SafeString:
    """Show an element only while the snapshot has something at ``path``."""
    return format_html('data-with="{}"{}', path, "" if field(snapshot, path) else " hidden")


@register.simple_tag
def only_without(snapshot: dict, path: str) -> SafeString:
    return format_html('data-without="{}"{}', path, " hidden" if field(snapshot, path) else "")
