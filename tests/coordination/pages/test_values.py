"""How values look on pages, and the attributes that keep them fresh."""

import pytest
from django.template import Context, Template
from django.utils import translation

from coordination.templatetags.live import shown


@pytest.mark.parametrize(
    ("value", "how", "english", "turkish"),
    [
        (1234567, "integer", "1,234,567", "1.234.567"),
        (0, "integer", "0", "0"),
        (2.61234, "loss", "2.6123", "2,6123"),
        (2.61239, "loss", "2.6124", "2,6124"),
        (2.5, "tick", "2.5", "2,5"),
        (3.0, "tick", "3", "3"),
        (12000.25, "tick", "12,000.25", "12.000,25"),
        (999, "bytes", "999 B", "999 B"),
        (1000, "bytes", "1.0 kB", "1,0 kB"),
        (999_949, "bytes", "999.9 kB", "999,9 kB"),
        (999_950, "bytes", "1.0 MB", "1,0 MB"),
        (40_422_136, "bytes", "40.4 MB", "40,4 MB"),
        (7 * 10**15, "bytes", "7000.0 TB", "7000,0 TB"),
        (59.6, "clock", "1:00", "1:00"),
        (3725, "clock", "1:02:05", "1:02:05"),
        ("ab" * 32, "digest", "abababababab", "abababababab"),
        ("2026-11-29T14:05:10+00:00", "moment", "29 Nov 14:05 UTC", "29 Kas 14:05 UTC"),
        ("new_code", "refusal", "new_code", "new_code"),
        (None, "loss", "–", "–"),
        ("", "text", "–", "–"),
    ],
)
def test_values(value, how, english, turkish):
    with translation.override("en"):
        assert shown(value, how) == english
    with translation.override("tr"):
        assert shown(value, how) == turkish


def _draw(template: str, **context: object) -> str:
    return Template("{% load live %}" + template).render(Context(context))


SNAPSHOT: dict = {
    "phase": "paused",
    "units": {"done": 3, "width": "30%"},
    "chart": None,
    "leases": [],
}


def test_bind_writes_the_value_and_where_it_came_from():
    drawn = _draw('{% bind s "units.done" "integer" %}', s=SNAPSHOT)
    assert drawn == '<span data-bind="units.done" data-format="integer">3</span>'


def test_bind_escapes():
    drawn = _draw('{% bind s "phase" %}', s={"phase": "<b>"})
    assert "&lt;b&gt;" in drawn and "<b>" not in drawn


def test_in_a_row_template_only_the_attributes_are_written():
    assert _draw('{% bind s "loss" "loss" %}', s=None) == (
        '<span data-bind="loss" data-format="loss"></span>'
    )
    assert _draw('{% bind_attributes s x="at" %}', s=None).strip() == 'data-attributes="x:at"'
    assert _draw('{% fill s "Round {round:integer}" %}', s=None) == ""


def test_attributes_come_from_the_snapshot():
    drawn = _draw('{% bind_attributes s width="units.width" d="chart.line" %}', s=SNAPSHOT)
    assert drawn == 'data-attributes="width:units.width;d:chart.line" width="30%"'


def test_messages_are_filled():
    drawn = _draw('{% fill s "{units.done:integer} of {chart.all:integer}" %}', s=SNAPSHOT)
    assert drawn == "3 of –"


@pytest.mark.parametrize(
    ("tag", "hidden"),
    [
        ('{% only_in s "paused" "ready" %}', False),
        ('{% only_in s "training" %}', True),
        ('{% only_with s "chart" %}', True),
        ('{% only_with s "units" %}', False),
        ('{% only_without s "leases" %}', False),
        ('{% only_without s "units" %}', True),
    ],
)
def test_what_does_not_apply_is_hidden(tag, hidden):
    assert _draw(tag, s=SNAPSHOT).endswith(" hidden") is hidden
