"""What every test gets."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings as project_settings
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


@pytest.fixture(scope="session", autouse=True)
def _remove_session_folder() -> Iterator[None]:
    folder = project_settings.MODELEN_VAR
    yield
    shutil.rmtree(folder, ignore_errors=True)
