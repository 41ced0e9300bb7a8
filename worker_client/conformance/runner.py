"""Run checks one after another and say how each went."""

import time
from collections.abc import Callable, Iterable
from typing import Any

from worker_client.conformance.check import (
    Absent,
    Check,
    Failed,
    NotObservable,
    Outcome,
    Result,
)

Told = Callable[[Check], None]
RAISED: dict[type[Exception], Result] = {
    Failed: Result.FAILED,
    Absent: Result.ABSENT,
    NotObservable: Result.NOT_OBSERVABLE,
}


def run_checks(
    checks: Iterable[Check], subject: Any, begins: Told, ended: Callable[[Outcome], None]
) -> list[Outcome]:
    """Every check's outcome. ``subject.tidy()`` is called after each, so that none depends on
    what another left."""
    outcomes = []
    for check in checks:
        begins(check)
        outcomes.append(_run(check, subject))
        ended(outcomes[-1])
    return outcomes


def _run(check: Check, subject: Any) -> Outcome:
    started = time.monotonic()
    try:
        try:
            result, detail = Result.PASSED, check.run(subject) or ""
        finally:
            subject.tidy()
    except tuple(RAISED) as raised:
        result, detail = RAISED[type(raised)], str(raised)
    return Outcome(check, result, detail, time.monotonic() - started)
