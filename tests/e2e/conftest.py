from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A models folder that has the tiny model."""
    from worker_client.contract.formats import load_format
    from worker_client.models.fetch import fetch
    from worker_client.models.store import ModelStore

    root = tmp_path_factory.mktemp("models")
    fetch(load_format("tiny-qwen3-lora-r4"), ModelStore(root))
    return root
