"""A run of a model from scratch, which needs nothing but its tokenizer to write."""

import hashlib
from pathlib import Path

import pytest

from coordination.models import Run
from tests.coordination.making import make_run
from worker_client.models.seeded_base import tokenizer_json

LINES = '{"language": "tr", "text": "Bir gün"}\n\n{"language": "en", "text": "<b>Once"}\n'


@pytest.fixture
def tokenizer(tmp_path: Path) -> Path:
    path = tmp_path / "tokenizer.json"
    path.write_text(tokenizer_json(), "utf-8")
    return path


@pytest.fixture
def scratch(db, tmp_path: Path, tokenizer: Path) -> Run:
    run = make_run(tmp_path, "scratch", format="scratch-tiny")
    run.tokenizer_sha256 = hashlib.sha256(tokenizer.read_bytes()).hexdigest()
    run.save()
    return run
