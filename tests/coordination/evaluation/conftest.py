"""A run with held-out text in two languages, and volunteers who measure."""

import json
from pathlib import Path

import pytest

from coordination.models import Run
from tests.coordination.making import WorkerOf, make_run

HELD_OUT_TOKENS = 4 * 15  # rows of 16 tokens, of which each but the first is predicted


@pytest.fixture
def run(db, tmp_path: Path) -> Run:
    """One shard, one round, whose result nobody checks."""
    return make_run(tmp_path, shards=1, rounds=1, languages=("en", "tr"), verify=False)


@pytest.fixture
def evaluator(run: Run) -> WorkerOf:
    return WorkerOf(run, "eva", "127.0.0.9")


def answer_to(task: dict, *losses: float, **fields: object) -> bytes:
    losses = losses or (2.5,) * len(task["aday"])
    body = {"kayip": losses, "token": HELD_OUT_TOKENS, "bayt": HELD_OUT_TOKENS} | fields
    return json.dumps(body).encode()
