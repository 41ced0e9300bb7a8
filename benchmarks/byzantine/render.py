"""Put the findings of the whole grid where they are read: a JSON file, a picture, a page."""

import json
from collections.abc import Sequence
from dataclasses import asdict

from benchmarks.byzantine.attacks import ATTACKS
from benchmarks.byzantine.coordinator import Defence
from benchmarks.byzantine.findings import MEAN, Findings, Missing
from benchmarks.byzantine.grid import ROOT
from benchmarks.byzantine.lab import HOSTILE, SCHEDULE, VOLUNTEERS, Arm
from benchmarks.byzantine.model import PARAMETERS
from benchmarks.byzantine.show import (
    by_attack,
    damage,
    kept,
    markdown,
    one_language,
    relative_loss,
    trust,
)
from benchmarks.table import Bar
from coordination.aggregation.rules import DEFAULT_SHARE

RESULTS = ROOT / "benchmarks" / "results" / "byzantine.json"
PICTURE = ROOT / "docs" / "images" / "robustness.svg"
PAGE = ROOT / "docs" / "robustness.md"
COMMAND = "python -m benchmarks.byzantine --write"
TITLE = "Share of the clean run's gain that is kept, in per cent"
BEGIN, END = "<!-- begin: written by {command} -->", "<!-- end -->"
DIGITS = 6


def write_results(findings: Findings, arms: Sequence[Arm]) -> None:
    """The outcome of every arm, one a line."""
    head = {
        "command": COMMAND,
        "volunteers": VOLUNTEERS,
        "hostile": HOSTILE,
        "share_told_to_rules": DEFAULT_SHARE,
        "schedule": asdict(SCHEDULE),
        "parameters": PARAMETERS,
        "attacks": {name: attack.source for name, attack in ATTACKS.items()},
    }
    first = json.dumps(head, ensure_ascii=False)[1:-1]
    known = [arm.name for arm in arms if arm.name in findings.outcomes]
    outcomes = {name: _rounded(asdict(findings.outcomes[name])) for name in known}
    rows = ",\n".join(f"{json.dumps(name)}: {json.dumps(row)}" for name, row in outcomes.items())
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text("{" + first + ',\n"outcomes": {\n' + rows + "\n}}\n", "utf-8")


def _rounded(outcome: dict) -> dict:
    return {
        name: round(value, DIGITS) if isinstance(value, float) else value
        for name, value in outcome.items()
    }


def write_page(
    findings: Findings,
    bare: Sequence[Defence],
    whole: Sequence[Defence],
    unverifiable: Defence,
    picture: str,
) -> None:
    """The part of the page between its marks, and its picture."""
    PICTURE.write_text(picture, "utf-8")
    _, alone, verified = whole
    begin = BEGIN.format(command=COMMAND)
    before, rest = PAGE.read_text("utf-8").split(begin)
    _, after = rest.split(END)
    parts = [
        "## What each attack does to the plain mean",
        markdown(damage(findings)),
        "## The recommended default",
        markdown(by_attack(findings, [MEAN, *whole, unverifiable], kept)),
        _verdicts(findings.bars(alone, verified)),
        "## With verification",
        markdown(trust(findings, verified)),
        "## Every rule, share of the gain kept",
        f"![{TITLE}: every rule against every attack](images/{PICTURE.name})",
        *(markdown(by_attack(findings, half, kept)) for half in halves(bare)),
        "## Every rule, held-out loss over the clean run's",
        *(markdown(by_attack(findings, half, relative_loss)) for half in halves(bare)),
        "## Nobody hostile",
        markdown(one_language(findings, [*bare, *whole[1:], unverifiable])),
    ]
    text = "\n\n".join(parts)
    PAGE.write_text(f"{before}{begin}\n{text}\n{END}{after}", "utf-8")


def halves(defences: Sequence[Defence]) -> tuple[Sequence[Defence], Sequence[Defence]]:
    """So that tables stay readable: without clipping, and with it."""
    return (
        [defence for defence in defences if not defence.clip],
        [defence for defence in defences if defence.clip],
    )


def _verdicts(bars: Sequence[Bar | Missing]) -> str:
    return "\n".join(f"- {bar}" for bar in bars)
