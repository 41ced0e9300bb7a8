"""Translations are complete: whatever the sources say has a finished Turkish sentence."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.modelen_site.processes import REPO

pytestmark = pytest.mark.needs("gettext")

SPOKEN = ("accounts", "apiv1", "coordination", "modelen_site", "portal", "templates", "locale")
CATALOGUES = sorted(path.relative_to(REPO) for path in REPO.glob("locale/*/LC_MESSAGES/*.po"))


@pytest.fixture(scope="module")
def refreshed(tmp_path_factory) -> Path:
    """A copy of what has strings, its catalogues brought up to date with the sources."""
    copy = tmp_path_factory.mktemp("sources")
    for folder in SPOKEN:
        ignored = shutil.ignore_patterns("__pycache__", "migrations", "*.mo")
        shutil.copytree(REPO / folder, copy / folder, ignore=ignored)
    command = [sys.executable, "-m", "django", "makemessages", "--all", "--no-obsolete", "-v0"]
    environment = {k: v for k, v in os.environ.items() if k != "DJANGO_SETTINGS_MODULE"}
    subprocess.run(command, cwd=copy, check=True, env=environment)
    return copy


def _select(flag: str, catalogue: Path) -> str:
    done = subprocess.run(
        ["msgattrib", flag, catalogue], check=True, capture_output=True, text=True
    )
    return done.stdout


def test_there_are_catalogues():
    assert [path.parts[1] for path in CATALOGUES] == ["tr"]


@pytest.mark.parametrize("catalogue", CATALOGUES, ids=str)
@pytest.mark.parametrize("flag", ["--untranslated", "--only-fuzzy"])
def test_nothing_is_missing_or_unsure(refreshed, catalogue, flag):
    assert _select(flag, refreshed / catalogue) == ""


@pytest.mark.parametrize("catalogue", CATALOGUES, ids=str)
def test_placeholders_agree(catalogue, tmp_path):
    check = ["msgfmt", "--check-format", "-o", tmp_path / "out.mo", REPO / catalogue]
    done = subprocess.run(check, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
