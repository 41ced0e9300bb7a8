"""Published reports: what the site shows of an experiment, in a folder of its own."""

import logging
import os
import shutil
import tempfile
from pathlib import Path

from django.conf import settings

from modelen_site.experiments.report import Report

REPORT = "report.json"
logger = logging.getLogger(__name__)


def published_folder() -> Path:
    return settings.MODELEN_VAR / "published-experiments"


def publish(folder: Path) -> Path:
    """Copy a report with its plots to where the site shows it, instead of an earlier one of the
    same name; nobody sees half of it."""
    report = Report.model_validate_json((folder / REPORT).read_text("utf-8"))
    root = published_folder()
    root.mkdir(parents=True, exist_ok=True)
    target, draft = root / report.name, Path(tempfile.mkdtemp(prefix=".", dir=root))
    draft.chmod(0o755)
    for path in (folder / REPORT, *folder.glob("*.svg")):
        shutil.copy(path, draft)
    if target.exists():
        old = Path(tempfile.mkdtemp(prefix=".", dir=root))
        os.replace(target, old / report.name)
        shutil.rmtree(old)
    os.replace(draft, target)
    return target


def published() -> list[Report]:
    """All, by title."""
    root = published_folder()
    names = sorted(path.name for path in root.glob("[!.]*")) if root.exists() else []
    return sorted((r for name in names if (r := find_published(name))), key=lambda r: r.title)


def find_published(name: str) -> Report | None:
    """One that is there and whole."""
    try:
        text = (published_folder() / name / REPORT).read_text("utf-8")
    except OSError:
        return None
    try:
        return Report.model_validate_json(text)
    except ValueError as error:
        logger.warning("the published experiment %s cannot be read: %s", name, error)
        return None
