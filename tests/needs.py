"""Tests whose needs are missing are NOT RUN, with the command that installs them.

Mark a test with ``@pytest.mark.needs("chromium")``. With CI=true a missing need is a failure,
since there the needs are installed.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

NOT_RUN = "NOT RUN: "


@dataclass(frozen=True)
class Need:
    is_met: Callable[[], bool]
    remedy: str


def _program(name: str, package: str) -> Need:
    return Need(lambda: shutil.which(name) is not None, f"apt-get install {package}")


NEEDS = {
    "chromium": _program("chromium", "chromium"),
    "curl": _program("curl", "curl"),
    "gettext": _program("msgfmt", "gettext"),
    "redis": _program("redis-server", "redis-server"),
    "root": Need(lambda: os.geteuid() == 0, "run the tests as root"),
}


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "needs(*names): what must be installed; see tests/needs.py")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    missing = [name for name in _needs(item) if not NEEDS[name].is_met()]
    if not missing:
        return
    reason = NOT_RUN + "; ".join(f"no {name}, {NEEDS[name].remedy}" for name in missing)
    if os.environ.get("CI") == "true":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


def _needs(item: pytest.Item) -> Iterator[str]:
    for mark in item.iter_markers("needs"):
        yield from mark.args


def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, str] | None:
    return ("not run", "N", "NOT RUN") if report.skipped and _reason(report) else None


def pytest_terminal_summary(terminalreporter: Any) -> None:
    reports = terminalreporter.stats.get("not run", [])
    if reports:
        terminalreporter.section("NOT RUN")
    for report in reports:
        terminalreporter.line(f"{report.nodeid}: {_reason(report)}")


def _reason(report: pytest.TestReport) -> str:
    text = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
    return text.partition(NOT_RUN)[2]
