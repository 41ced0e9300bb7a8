"""What people and programs see."""

import io
import json
from dataclasses import fields
from typing import Any

import pytest
from rich.console import Console

from worker_client.display import events
from worker_client.display.screens import JsonLines, PlainLines, Terminal, open_display

SAMPLES: dict[str, Any] = {"str": "text", "int": 3, "float": 1.5, "bool": True, "list": [1.5, 2.0]}


def _type_name(annotation: Any) -> str:
    return getattr(annotation, "__name__", str(annotation))


def sample(kind: type[events.Event]) -> events.Event:
    values = {f.name: SAMPLES[_type_name(f.type)] for f in fields(kind)}
    if kind is events.Finished:
        values["reason"] = "stopped"
    return kind(**values)


KINDS = events.Event.__subclasses__()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_event_is_a_json_object_and_a_line(kind):
    out, lines, event = io.StringIO(), io.StringIO(), sample(kind)
    JsonLines(out).show(event)
    told = json.loads(out.getvalue())
    assert told["event"] == kind.name
    assert set(told) == {"event", "time"} | {f.name for f in fields(kind)}
    PlainLines(lines).show(event)
    assert lines.getvalue().count("\n") == 1


def test_the_names_that_programs_rely_on():
    assert {kind.name for kind in KINDS} == {
        "started", "ready", "leased", "downloaded", "step", "trained", "scored", "prepared",
        "uploaded", "verdict", "fate", "registered", "waiting", "abandoned", "restarted",
        "stopping", "finished", "error",
    }  # fmt: skip


def test_a_coordinators_words_do_not_drive_the_terminal():
    out = io.StringIO()
    PlainLines(out).show(events.Error("x", "\x1b[2J\x07evil\r\nFAKE LINE", fatal=False))
    assert "\x1b" not in out.getvalue()
    assert out.getvalue().count("\n") == 1


def test_plain_lines_name_about_ten_steps_of_many():
    out = io.StringIO()
    screen = PlainLines(out)
    for number in range(1, 1001):
        screen.show(events.Step("l", 1, number, 1000, 2.0, 10.0))
    assert 10 <= out.getvalue().count("\n") <= 12


def test_a_terminal_shows_bars_and_keeps_the_lines():
    out = io.StringIO()
    screen = Terminal(Console(file=out, force_terminal=True, width=100))
    screen.transfer("snapshot", 10, 100)
    screen.show(events.Step("l", 1, 3, 8, 2.5, 10.0))
    screen._progress.refresh()
    screen.show(events.Waiting(3.0, "[bold]why[/bold]"))
    screen.close()
    shown = out.getvalue()
    assert "loss 2.5000" in shown
    assert "3/8" in shown
    assert "[bold]why[/bold]" in shown


def test_the_display_follows_the_output():
    assert isinstance(open_display(True, io.StringIO()), JsonLines)
    assert isinstance(open_display(False, io.StringIO()), PlainLines)


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 bytes"), (999, "999 bytes"), (40_422_136, "40.4 MB"), (10**16, "10000.0 TB")],
)
def test_sizes_for_people(count, text):
    assert events.size(count) == text
