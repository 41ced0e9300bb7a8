"""What a test found, for people (a table), for programs (JSON) and for build servers (JUnit)."""

import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from worker_client.conformance.check import Outcome, Result

STYLES = {
    Result.PASSED: "green",
    Result.FAILED: "bold red",
    Result.ABSENT: "yellow",
    Result.NOT_OBSERVABLE: "cyan",
}


def clean(text: str) -> str:
    """Text without control characters: a stranger's words must not drive the terminal."""
    return "".join(c if c.isprintable() else " " for c in text)


def counts(outcomes: Sequence[Outcome]) -> dict[str, int]:
    found = Counter(outcome.result for outcome in outcomes)
    return {result.value: found[result] for result in Result}


def failed(outcomes: Sequence[Outcome]) -> bool:
    return any(outcome.result is Result.FAILED for outcome in outcomes)


def summary(outcomes: Sequence[Outcome]) -> str:
    return ", ".join(f"{number} {name}" for name, number in counts(outcomes).items())


def print_table(outcomes: Sequence[Outcome], console: Console) -> None:
    """One row for a check: its result, its clause, what was seen."""
    table = Table(show_lines=False, expand=console.is_terminal)
    for heading in ("check", "result", "clause of the protocol, and what was seen"):
        table.add_column(heading, overflow="fold")
    for outcome in outcomes:
        style = STYLES[outcome.result]
        told = f"[italic]{escape(outcome.check.clause)}[/]"
        if outcome.detail:
            told += f"\n[{style}]→ {escape(clean(outcome.detail))}[/]"
        table.add_row(outcome.check.id, f"[{style}]{outcome.result.value}[/]", told)
    console.print(table)
    console.print(summary(outcomes))


def to_json(subject: str, outcomes: Sequence[Outcome]) -> dict:
    return {
        "subject": subject,
        "protocol": 1,
        "counts": counts(outcomes),
        "checks": [
            {
                "id": outcome.check.id,
                "clause": outcome.check.clause,
                "result": outcome.result.value,
                "detail": outcome.detail,
                "seconds": round(outcome.seconds, 3),
            }
            for outcome in outcomes
        ],
    }


def to_junit(subject: str, outcomes: Sequence[Outcome]) -> bytes:
    """A JUnit file; what is absent or not observable counts as skipped, never as passed."""
    found = counts(outcomes)
    skipped = found[Result.ABSENT.value] + found[Result.NOT_OBSERVABLE.value]
    suite = ET.Element(
        "testsuite",
        name=f"protocol-v1 {subject}",
        tests=str(len(outcomes)),
        failures=str(found[Result.FAILED.value]),
        skipped=str(skipped),
        time=f"{sum(outcome.seconds for outcome in outcomes):.3f}",
    )
    for outcome in outcomes:
        suite.append(_case(outcome))
    return ET.tostring(suite, encoding="utf-8", xml_declaration=True)


def _case(outcome: Outcome) -> ET.Element:
    case = ET.Element(
        "testcase",
        classname="protocol-v1",
        name=f"{outcome.check.id}: {outcome.check.clause}",
        time=f"{outcome.seconds:.3f}",
    )
    if outcome.result is Result.FAILED:
        ET.SubElement(case, "failure", message=clean(outcome.detail))
    elif outcome.result is not Result.PASSED:
        told = f"{outcome.result.value}: {clean(outcome.detail)}"
        ET.SubElement(case, "skipped", message=told)
    return case
