"""``create_run --raw``: what it says and what it refuses."""

from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from coordination.models import Chunk, Preparation, Run
from coordination.preparing.cut import cut
from tests.coordination.preparing.conftest import write_articles
from worker_client.contract.wire import MAX_RAW_BYTES
from worker_client.models.seeded_base import tokenizer_json

pytestmark = pytest.mark.django_db

SCRATCH = ("--format", "scratch-tiny", "--seq", "16", "--rounds", "1", "--lr", "1e-3")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tokenizer.json").write_text(tokenizer_json(), "utf-8")
    (tmp_path / "text").mkdir()
    write_articles(tmp_path / "text" / "articles.jsonl", 4)
    (tmp_path / "empty").mkdir()
    return tmp_path


def create(folder: Path, *options: str, raw: str = "text", tokenizer: bool = True) -> str:
    out = StringIO()
    named = ("--tokenizer", str(folder / "tokenizer.json")) if tokenizer else ()
    paths = ("--raw", str(folder / raw))
    call_command("create_run", "raw", *SCRATCH, *paths, *named, *options, stdout=out)
    return out.getvalue()


def test_the_run_is_ready_and_says_how_much_there_is_to_do(folder):
    said = create(folder, "--shards", "2", "--languages", "tr,en")
    assert "1 chunks of text to prepare, 2 shards" in said
    run = Run.objects.get()
    assert run.state == Run.State.READY and run.serves_data and run.rule == Run.Rule.MULTI_KRUM
    how = Preparation.objects.get()
    assert how.languages == ["en", "tr"] and how.tokenizer_sha256 == run.tokenizer
    out = StringIO()
    call_command("run_status", "raw", stdout=out)
    assert "text     0 of 1 chunks prepared" in out.getvalue()


@pytest.mark.parametrize(
    ("options", "changes", "message"),
    [
        (("--shards", "2", "--hold"), {}, "neither --data nor --hold"),
        ((), {}, "--n-parca"),
        (("--shards", "2"), {"raw": "empty"}, "no .jsonl file"),
        (("--shards", "2"), {"tokenizer": False}, "worker_client chunks failed"),
        (("--shards", "2", "--mod", "sft"), {}, "--mod cpt"),
        (("--shards", "9999"), {}, "too few"),
    ],
)
def test_what_cannot_be_is_refused(folder, options, changes, message):
    with pytest.raises(CommandError, match=message):
        create(folder, *options, **changes)
    assert not Run.objects.exists() and not Chunk.objects.exists()


def test_a_base_models_tokenizer_is_not_the_runs_own(folder):
    create(folder, "--shards", "2", "--format", "tiny-qwen3-lora-r4")  # it is this very file
    assert Run.objects.get().tokenizer_sha256 == ""


def test_another_tokenizer_than_the_base_models_is_refused(folder):
    path = folder / "tokenizer.json"
    path.write_text(path.read_text("utf-8") + "\n", "utf-8")
    with pytest.raises(CommandError):
        create(folder, "--shards", "2", "--format", "tiny-qwen3-lora-r4")


def test_text_is_cut_at_lines_of_any_length(tmp_path):
    one, two = tmp_path / "1.jsonl", tmp_path / "2.jsonl"
    long = b"x" * (MAX_RAW_BYTES - 1) + b"\n"
    one.write_bytes(b"a\n\n \nbb\n" + long[:-1] + b"x\n" + b"ccc")  # blank lines; one too long
    two.write_bytes(b"dddd\n")
    assert b"".join(cut([one, two], size=4)) == b"a\nbb\nccc\ndddd\n"
    assert [len(chunk) for chunk in cut([one, two], size=5)] == [5, 9]
