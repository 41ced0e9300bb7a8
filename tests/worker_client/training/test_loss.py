"""The piecewise head against torch's own cross-entropy over whole logits."""

import pytest
import torch
from torch.nn import functional

from worker_client.training import loss as module
from worker_client.training.loss import SummedCrossEntropy, count_targets, summed_loss


@pytest.mark.parametrize("piece", [7, 40, 10**6])
def test_value_and_gradient_equal_torchs(monkeypatch, piece):
    monkeypatch.setattr(module, "PIECE_LOGITS", piece)
    torch.manual_seed(0)
    hidden, head = torch.randn(23, 8, requires_grad=True), torch.randn(13, 8)
    targets = torch.randint(0, 13, (23,))
    expected = functional.cross_entropy(hidden @ head.T, targets, reduction="sum")
    (slope,) = torch.autograd.grad(expected / 3, hidden)
    ours = SummedCrossEntropy.apply(hidden, head, targets)
    (our_slope,) = torch.autograd.grad(ours / 3, hidden)
    assert ours.item() == pytest.approx(expected.item(), rel=1e-6)
    torch.testing.assert_close(our_slope, slope)


def test_equals_the_models_own_loss(tiny_adapter):
    ids = torch.randint(0, 256, (3, 16))
    labels = ids.clone()
    labels[0, 9:] = -100
    own = tiny_adapter.model(input_ids=ids, labels=labels).loss
    ours = summed_loss(tiny_adapter, ids, labels) / count_targets(labels)
    assert ours.item() == pytest.approx(own.item(), rel=1e-5)


def test_right_padding_changes_nothing(tiny_adapter):
    ids = torch.randint(0, 256, (1, 12))
    padded = functional.pad(ids, (0, 5), value=256)
    labels = functional.pad(ids, (0, 5), value=-100)
    whole = summed_loss(tiny_adapter, ids, ids)
    assert summed_loss(tiny_adapter, padded, labels).item() == pytest.approx(whole.item(), rel=1e-5)


def test_no_target_is_no_loss_and_no_gradient(tiny_adapter):
    ids = torch.randint(0, 256, (1, 8))
    loss = summed_loss(tiny_adapter, ids, torch.full_like(ids, -100))
    assert count_targets(torch.full_like(ids, -100)) == 0
    assert loss.item() == 0.0


@pytest.mark.parametrize("piece", [7, 10**6])
def test_the_gradient_of_a_head_that_is_trained_equals_torchs(monkeypatch, piece):
    monkeypatch.setattr(module, "PIECE_LOGITS", piece)
    torch.manual_seed(0)
    hidden = torch.randn(23, 8, requires_grad=True)
    head, targets = torch.randn(13, 8, requires_grad=True), torch.randint(0, 13, (23,))
    expected = functional.cross_entropy(hidden @ head.T, targets, reduction="sum")
    slopes = torch.autograd.grad(expected / 3, (hidden, head))
    ours = SummedCrossEntropy.apply(hidden, head, targets)
    torch.testing.assert_close(torch.autograd.grad(ours / 3, (hidden, head)), slopes)
