from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import global_settings
from playwright.sync_api import Browser

from accounts.create_admin import create_admin
from accounts.models import User
from tests.accounts.people import PASSWORD
from tests.e2e.browsing import Visit, chromium, visiting


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture
def visit(browser: Browser, root: str) -> Iterator[Visit]:
    """Pages below ``root``, a fixture of each module; see ``visiting``."""
    with visiting(browser, root) as visit:
        yield visit


@pytest.fixture
def admin(settings: Any) -> User:
    """Whose password the server in its own process can check."""
    settings.PASSWORD_HASHERS = global_settings.PASSWORD_HASHERS
    return create_admin("admin@example.org", PASSWORD)


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A models folder that has the tiny model."""
    from worker_client.contract.formats import load_adapter_format
    from worker_client.models.fetch import fetch
    from worker_client.models.store import ModelStore

    root = tmp_path_factory.mktemp("models")
    fetch(load_adapter_format("tiny-qwen3-lora-r4"), ModelStore(root))
    return root
