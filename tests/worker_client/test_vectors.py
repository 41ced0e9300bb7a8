"""The worker against the recipes' committed known answers."""

import hashlib
from itertools import islice

import pytest
import torch

from worker_client.contract.formats import load_format
from worker_client.contract.recipe import (
    BETAS,
    CLIP_NORM,
    EMBEDDING_FLOOR,
    EPS,
    WEIGHT_DECAY_SCRATCH,
    Schedule,
    generator_seed,
)
from worker_client.contract.vectors import load_vectors
from worker_client.training.initial import initial_tensors
from worker_client.training.known_answers import known_answers
from worker_client.training.loss import SummedCrossEntropy, count_targets
from worker_client.training.optimiser import FlooredAdamW, set_lr
from worker_client.training.rows import row_stream

VECTORS = load_vectors("v1")


@pytest.mark.parametrize("case", VECTORS["generator_seed"])
def test_generator_seed(case):
    assert generator_seed(case["tohum"], case["tur"], case["parca"]) == case["seed"]


@pytest.mark.parametrize("case", VECTORS["rows"])
def test_row_stream_goes_on_with_a_fresh_permutation(case):
    stream = row_stream(case["tohum"], case["tur"], case["parca"], case["n"])
    assert list(islice(stream, len(case["stream"]))) == case["stream"]
    assert sorted(case["stream"][: case["n"]]) == list(range(case["n"]))


@pytest.mark.parametrize("recipe", ["v1", "v2"])
@pytest.mark.parametrize("number", range(3))
def test_learning_rate(recipe, number):
    case = load_vectors(recipe)["learning_rate"][number]
    schedule = Schedule(case["lr"], case["tur_sayisi"], case["ic_adim"], recipe)
    for point in case["points"]:
        assert schedule.at(point["tur"], point["adim"]) == pytest.approx(point["lr"], rel=1e-12)


def test_loss_is_summed_over_targets_and_divided_by_their_count():
    case = VECTORS["cross_entropy"]
    labels = torch.tensor(case["labels"])
    targets = labels[:, 1:]
    wanted = targets != -100
    # With an identity head the hidden states are the logits.
    hidden = torch.tensor(case["logits"])[:, :-1][wanted].requires_grad_()
    total = SummedCrossEntropy.apply(hidden, torch.eye(5), targets[wanted])
    assert count_targets(labels) == case["count"]
    assert total.item() == pytest.approx(case["sum"], rel=1e-6)
    assert total.item() / case["count"] == pytest.approx(case["loss"], rel=1e-6)


def test_adamw_with_clipped_gradients():
    case = VECTORS["adamw"]
    value = torch.tensor(case["start"], requires_grad=True)
    optimiser = torch.optim.AdamW([value], betas=BETAS, eps=EPS, weight_decay=0.0)
    for rate, gradient, after in zip(case["lr"], case["gradients"], case["after"], strict=True):
        optimiser.param_groups[0]["lr"] = rate
        value.grad = torch.tensor(gradient)
        torch.nn.utils.clip_grad_norm_([value], CLIP_NORM)
        optimiser.step()
        assert value.tolist() == pytest.approx(after, rel=1e-6, abs=1e-9)


def test_initial_snapshot():
    case = VECTORS["initial_snapshot"]
    tensors = initial_tensors(load_format(case["bicim"]), case["tohum"])
    vector = b"".join(values.tobytes() for values in tensors.values())
    assert hashlib.sha256(vector).hexdigest() == case["sha256"]


def test_the_committed_file_is_what_the_script_makes():
    made = known_answers("v1")
    assert made.keys() == VECTORS.keys()
    for exact in ("recipe", "generator_seed", "rows", "initial_snapshot"):
        assert made[exact] == VECTORS[exact]


def test_v2_rises_in_every_task():
    one, two = (Schedule(1e-3, 50, 30, recipe) for recipe in ("v1", "v2"))
    shares = [two.at(7, step) / one.at(7, step) for step in (0, 4, 8, 9, 29)]
    assert shares == pytest.approx([0.1, 0.5, 0.9, 1, 1])
    short = Schedule(1e-3, 50, 2, "v2")
    assert short.at(7, 0) == Schedule(1e-3, 50, 2).at(7, 0)


def decayed(matrix):
    return [{"params": [matrix], "weight_decay": WEIGHT_DECAY_SCRATCH}]


def test_v2s_embedding():
    case = load_vectors("v2")["embedding"]
    value = torch.nn.Parameter(torch.tensor(case["start"]))
    optimiser = FlooredAdamW(decayed(value), EMBEDDING_FLOOR)
    for rate, gradient, after in zip(case["lr"], case["gradients"], case["after"], strict=True):
        set_lr([optimiser], rate)
        value.grad = torch.tensor(gradient)
        optimiser.step()
        for row, known in zip(value.tolist(), after, strict=True):
            assert row == pytest.approx(known, rel=1e-6, abs=1e-9)


def test_v2s_committed_file_is_what_the_script_makes():
    assert known_answers("v2") == load_vectors("v2")


def test_a_floor_of_nothing_is_torchs_adamw():
    start, generator = torch.linspace(-1, 1, 12).reshape(4, 3), torch.Generator().manual_seed(1)
    ours, theirs = torch.nn.Parameter(start.clone()), torch.nn.Parameter(start.clone())
    floored = FlooredAdamW(decayed(ours), 0.0)
    plain = torch.optim.AdamW(decayed(theirs), betas=BETAS, eps=EPS)
    set_lr([floored, plain], 1e-2)
    for _ in range(5):
        ours.grad = torch.randn(4, 3, generator=generator)
        theirs.grad = ours.grad.clone()
        floored.step(), plain.step()
    torch.testing.assert_close(ours, theirs, rtol=1e-6, atol=1e-8)
