"""What every test gets."""

import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from celery import Task
from django.conf import settings as project_settings
from django.utils import translation
from kombu.exceptions import OperationalError
from pytest_django import Settings

pytest_plugins = ["tests.needs", "pytester"]


@pytest.fixture(autouse=True)
def own_state_folder(settings: Settings, tmp_path: Path) -> Path:
    """Blobs and uploads of one test are no other test's."""
    state = tmp_path / "var"
    settings.MODELEN_VAR = state
    settings.BLOB_ROOT = state / "blobs"
    settings.UPLOAD_ROOT = state / "uploads"
    return state


@pytest.fixture(autouse=True)
def own_language() -> Iterator[None]:
    """A request activates its visitor's language for its thread; no test hears another's."""
    translation.deactivate()
    yield
    translation.deactivate()


@pytest.fixture
def broker_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing can be handed to Celery."""

    def refuse(task: Task, *_: object) -> None:
        raise OperationalError("Connection refused")

    monkeypatch.setattr(Task, "delay", refuse)


def pytest_configure() -> None:
    """A shell has what it starts in the background ignore Ctrl-C, and its children with it."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the folder that tests/settings.py made, once all of xdist's processes have ended."""
    if not hasattr(config, "workerinput"):
        shutil.rmtree(project_settings.MODELEN_VAR, ignore_errors=True)
