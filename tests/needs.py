"""Tests whose needs are missing are NOT RUN, with the command that installs them.

Mark a test with ``@pytest.mark.needs("chromium")``. With CI=true a missing program is a failure,
since there programs are installed. Rights and devices cannot be installed.
"""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import pytest

from tests.servers import postgresql_programs

NOT_RUN = "NOT RUN: "


@dataclass(frozen=True)
class Need:
    is_met: Callable[[], bool]
    remedy: str
    can_be_installed: bool = True


def _program(name: str, package: str) -> Need:
    return Need(lambda: shutil.which(name) is not None, f"apt-get install {package}")


NEEDS = {
    "chromium": _program("chromium", "chromium"),
    "cuda": Need(
        lambda: import_module("torch").cuda.is_available(),
        "run the tests on a machine with a GPU and torch for it",
        can_be_installed=False,
    ),
    "curl": _program("curl", "curl"),
    "dpkg-deb": _program("dpkg-deb", "dpkg"),
    "faketime": _program("faketime", "faketime"),
    "gettext": _program("msgfmt", "gettext"),
    "namespaces": Need(
        lambda: (
            subprocess.run("unshare --mount true", shell=True, capture_output=True).returncode == 0
        ),
        "run the tests as root with the right to unshare",
        can_be_installed=False,
    ),
    "postgresql": Need(
        lambda: postgresql_programs() is not None, "pip install -r requirements-dev.txt"
    ),
    "redis": _program("redis-server", "redis-server"),
    "root": Need(lambda: os.geteuid() == 0, "run the tests as root", can_be_installed=False),
}


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "needs(*names): what must be installed; see tests/needs.py")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    names = list(_needs(item))
    lacking = missing(names)
    if not lacking:
        return
    programs = [name for name in names if NEEDS[name].can_be_installed]
    if os.environ.get("CI") == "true" and missing(programs):
        pytest.fail(NOT_RUN + lacking, pytrace=False)
    pytest.skip(NOT_RUN + lacking)


def missing(names: Iterable[str]) -> str:
    """Which of the named needs are not met, each with its remedy; empty if all are."""
    unmet = [name for name in names if not NEEDS[name].is_met()]
    return "; ".join(f"no {name}, {NEEDS[name].remedy}" for name in unmet)


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
