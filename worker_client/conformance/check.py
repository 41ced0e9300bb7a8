"""What a check is: a clause of the protocol, and a function that tries whether it holds."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Any


class Result(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    ABSENT = "absent"
    NOT_OBSERVABLE = "not observable"


class Failed(Exception):
    """The clause does not hold; the message says what was seen and what was expected."""


class Absent(Exception):
    """The clause is about an optional part that is not there."""


class NotObservable(Exception):
    """This run cannot show whether the clause holds; the message says what could."""


@dataclass(frozen=True)
class Check:
    """``id`` is for people and ``--only``; ``clause`` stands word for word in the protocol."""

    id: str
    clause: str
    run: Callable[[Any], str | None]


@dataclass(frozen=True)
class Outcome:
    check: Check
    result: Result
    detail: str
    seconds: float


class Registry:
    """The checks of one subject, in the order in which they run."""

    def __init__(self) -> None:
        self.checks: list[Check] = []

    def __call__(self, id: str, clause: str) -> Callable[[Any], Any]:
        """Register the decorated function. It may return a remark on what it saw; it raises
        ``Failed``, ``Absent`` or ``NotObservable``."""

        def register(function: Callable[[Any], str | None]) -> Callable[[Any], str | None]:
            if any(check.id == id for check in self.checks):
                raise ValueError(f"two checks are called {id}")
            self.checks.append(Check(id, clause, function))
            return function

        return register

    def select(self, patterns: Iterable[str]) -> list[Check]:
        """The checks whose id fits one of ``patterns``, as in ``file-*``; all without any.

        Raises:
            LookupError: a pattern fits none.
        """
        wanted = list(patterns) or ["*"]
        for pattern in wanted:
            if not any(fnmatchcase(check.id, pattern) for check in self.checks):
                raise LookupError(f"no check is called {pattern!r}; --list shows them all")
        return [c for c in self.checks if any(fnmatchcase(c.id, p) for p in wanted)]


def demand(holds: object, message: str) -> None:
    """Raises Failed with ``message`` unless ``holds``."""
    if not holds:
        raise Failed(message)
