"""Strict reading of adapter files, the first snapshot, and export to PEFT."""

import hashlib

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file

from tests.worker_client.materials import TINY
from worker_client.contract.formats import load_format
from worker_client.models.load import load_base
from worker_client.models.store import ModelStore
from worker_client.training.errors import SnapshotRefused
from worker_client.training.export import export
from worker_client.training.files import read_weights, write_weights
from worker_client.training.initial import initial_tensors, write_initial


@pytest.fixture
def tensors():
    draw = np.random.default_rng(0)
    return {s.name: draw.normal(0, 0.1, s.shape).astype("<f4") for s in TINY.tensors}


def test_written_and_read_back(tmp_path, tensors):
    path = tmp_path / "a.safetensors"
    written = write_weights(path, TINY, tensors, {"format": "pt"})
    assert written.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert written.size == path.stat().st_size
    assert list(read_weights(path, TINY)) == [spec.name for spec in TINY.tensors]
    for name, values in load_file(path).items():  # the library agrees
        assert np.array_equal(values, tensors[name])
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_in_another_order_is_read_by_name(tmp_path, tensors):
    path = tmp_path / "a.safetensors"
    save_file(dict(sorted(tensors.items(), reverse=True)), path)
    for name, values in read_weights(path, TINY).items():
        assert np.array_equal(values, tensors[name])


def drop_one(tensors):
    tensors.pop(TINY.tensors[0].name)


def add_one(tensors):
    tensors["base_model.more"] = np.zeros(3, "<f4")


def reshape_one(tensors):
    tensors[TINY.tensors[0].name] = tensors[TINY.tensors[0].name].T.copy()


def halve_one(tensors):
    tensors[TINY.tensors[0].name] = tensors[TINY.tensors[0].name].astype("<f2")


def spoil_one(tensors):
    tensors[TINY.tensors[5].name][0, 0] = np.inf


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (drop_one, "amiss"),
        (add_one, "base_model.more"),
        (reshape_one, "not F32"),
        (halve_one, "F16"),
        (spoil_one, "not finite"),
    ],
)
def test_what_the_manifest_does_not_allow_is_refused(tmp_path, tensors, change, why):
    change(tensors)
    save_file(tensors, tmp_path / "a.safetensors")
    with pytest.raises(SnapshotRefused, match=why):
        read_weights(tmp_path / "a.safetensors", TINY)


@pytest.mark.parametrize("body", [b"", b"<html>", b"\x80\x04\x95", b"\xff" * 64])
def test_what_is_no_safetensors_file_is_refused(tmp_path, body):
    (tmp_path / "a.safetensors").write_bytes(body)
    with pytest.raises(SnapshotRefused, match="cannot be read"):
        read_weights(tmp_path / "a.safetensors", TINY)


def test_a_cut_file_is_refused(tmp_path):
    written = write_initial(TINY, 1, tmp_path / "a.safetensors")
    written.path.write_bytes(written.path.read_bytes()[:-4])
    with pytest.raises(SnapshotRefused, match="cannot be read"):
        read_weights(written.path, TINY)


def test_the_first_snapshot_follows_from_the_seed(tmp_path):
    first = write_initial(TINY, 7, tmp_path / "a")
    assert write_initial(TINY, 7, tmp_path / "b").sha256 == first.sha256
    assert write_initial(TINY, 8, tmp_path / "c").sha256 != first.sha256


def test_the_first_snapshot_is_drawn_as_peft_draws():
    for name, values in initial_tensors(load_format("smollm2-135m-lora-r16"), 3).items():
        bound = values.shape[1] ** -0.5 if ".lora_A." in name else 0.0
        assert np.abs(values).max() <= bound
        assert values.std() == pytest.approx(bound / 3**0.5, rel=0.1)


def test_peft_loads_an_exported_folder(tmp_path, tiny_models, tensors):
    from peft import PeftModel

    adapter = tmp_path / "adapter.safetensors"
    write_weights(adapter, TINY, tensors, {"format": "pt"})
    export(TINY, adapter, tmp_path / "out")
    store, probe = ModelStore(tiny_models), torch.arange(1, 9)[None]
    plain = load_base(TINY, store, torch.float32)(input_ids=probe).logits
    model = PeftModel.from_pretrained(load_base(TINY, store, torch.float32), tmp_path / "out")
    loaded = {n.replace(".default", ""): p for n, p in model.named_parameters() if "lora_" in n}
    assert all(np.array_equal(loaded[n].detach().numpy(), v) for n, v in tensors.items())
    assert not torch.allclose(model(input_ids=probe).logits, plain)
