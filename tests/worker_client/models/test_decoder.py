"""The decoder agrees with transformers' Qwen3 on the same weights."""

from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM

from worker_client.contract.formats import load_scratch_format
from worker_client.models.decoder import Decoder, KeysValues
from worker_client.training.export import export
from worker_client.training.initial import initial_tensors, write_initial

# Embedding, then per layer: norms, attention, MLP, by arithmetic from the geometry.
PARAMETERS = {
    "scratch-tiny": 119_168,
    "scratch-xs": 2_099_136,
    "scratch-s": 28_317_312,
    "scratch-m": 113_266_944,
    "scratch-l": 479_789_312,
}


TINY = load_scratch_format("scratch-tiny")


@pytest.fixture(scope="module")
def model() -> Decoder:
    made = Decoder(TINY.decoder)
    found = dict(made.named_parameters())
    with torch.no_grad():
        for name, values in initial_tensors(TINY, 5).items():
            found[name].copy_(torch.from_numpy(values) * 3)  # far from zero, so that all matters
    return made


@pytest.fixture
def ids() -> torch.Tensor:
    return torch.randint(0, 320, (3, 40), generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters_are_as_stated_and_in_the_manifests_order(name):
    fmt = load_scratch_format(name)
    with torch.device("meta"):
        made = Decoder(fmt.decoder)
    shapes = [(name, tuple(p.shape)) for name, p in made.named_parameters()]
    assert shapes == [(spec.name, spec.shape) for spec in fmt.tensors]
    assert fmt.parameters == PARAMETERS[name]


@pytest.mark.parametrize("name", ["scratch-tiny", "scratch-s"])
def test_logits_equal_those_of_transformers(name, tmp_path: Path):
    fmt = load_scratch_format(name)
    written = write_initial(fmt, 3, tmp_path / "snapshot.safetensors")
    export(fmt, written.path, tmp_path / "folder")
    theirs = AutoModelForCausalLM.from_pretrained(tmp_path / "folder").eval()
    ours = Decoder(fmt.decoder)
    ours.load_state_dict({n: torch.tensor(v) for n, v in initial_tensors(fmt, 3).items()})
    ids = torch.randint(0, fmt.vocab_size, (2, 64), generator=torch.Generator().manual_seed(2))
    with torch.inference_mode():
        torch.testing.assert_close(ours(ids), theirs(ids).logits, rtol=0, atol=1e-4)


def test_no_token_sees_a_later_one(model, ids):
    changed = ids.clone()
    changed[:, 20:] = (changed[:, 20:] + 1) % 320
    with torch.inference_mode():
        before, after = model(ids), model(changed)
    torch.testing.assert_close(before[:, :20], after[:, :20])
    assert not torch.allclose(before[:, 20:], after[:, 20:])


def test_kept_keys_and_values_give_the_same_as_all_at_once(model, ids):
    seen = [KeysValues() for _ in model.model.layers]
    with torch.inference_mode():
        parts = [model.hidden(part, seen) for part in ids.split([7, 1, 20, 12], dim=1)]
        torch.testing.assert_close(torch.cat(parts, 1), model.hidden(ids), rtol=1e-4, atol=1e-5)


def test_generation_takes_the_likeliest_token_until_the_context_is_full(model, ids):
    tokens = list(model.generate(ids))
    assert len(tokens) == TINY.decoder.context - 40
    text = ids
    for token in tokens[:5]:
        with torch.inference_mode():
            assert torch.equal(model(text)[:, -1].argmax(-1), token)
        text = torch.cat((text, token[:, None]), 1)


def test_sampling_repeats_with_its_generator(model, ids):
    def draw(seed):
        generator = torch.Generator().manual_seed(seed)
        found = model.generate(ids, temperature=1.0, generator=generator)
        return torch.stack([next(found) for _ in range(20)])

    assert torch.equal(draw(1), draw(1))
    assert not torch.equal(draw(1), draw(2))


def test_checkpointing_changes_no_gradient(model, ids):
    twin = Decoder(TINY.decoder, checkpointing=True)
    twin.load_state_dict(model.state_dict())
    for each in (model, twin):
        each.zero_grad()
        each.train()(ids).square().mean().backward()
    for ours, theirs in zip(model.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(ours.grad, theirs.grad)
