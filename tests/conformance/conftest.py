from pathlib import Path

import pytest

from tests.conformance.subjects import write_run


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    """A folder of its own with a tiny run of two shards."""
    return write_run(tmp_path)
