"""Cross-entropy of the next token, summed over targets, without ever holding all logits.

The head of a small model is a third of its work and most of its memory: 4 sequences of 512
tokens over Qwen3's vocabulary make 1.2 GB of float32 logits, several times over in autograd.
The loss is the last thing computed, so the gradients of the head and of its input can be made
piece by piece in the same pass as the loss.
"""

from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional

from worker_client.contract.recipe import IGNORED_LABEL

if TYPE_CHECKING:
    from worker_client.training.trainee import Trainee

PIECE_LOGITS = 16 * 2**20  # 64 MiB of float32: large enough for full-speed products


class SummedCrossEntropy(torch.autograd.Function):
    """``hidden [n, d]``, ``head [vocab, d]``, ``targets [n]`` int64 -> float32 scalar.

    Products are made in ``hidden``'s dtype, sums in float32; a frozen head costs no gradient.
    """

    @staticmethod
    def forward(
        ctx: Any,
        hidden: torch.Tensor,
        head: torch.Tensor,
        targets: torch.Tensor,
    ) -> torch.Tensor:
        rows = max(1, PIECE_LOGITS // head.shape[0])
        total = torch.zeros((), dtype=torch.float32, device=hidden.device)
        below = torch.empty_like(hidden) if ctx.needs_input_grad[0] else None
        above = torch.zeros_like(head) if ctx.needs_input_grad[1] else None
        weights = head.to(hidden.dtype)
        for start in range(0, len(targets), rows):
            piece, wanted = hidden[start : start + rows], targets[start : start + rows]
            logs = functional.log_softmax((piece @ weights.T).float(), dim=-1)
            total += functional.nll_loss(logs, wanted, reduction="sum")
            if below is None and above is None:
                continue
            slope = logs.exp_()
            slope[torch.arange(len(wanted), device=wanted.device), wanted] -= 1.0
            slope = slope.to(hidden.dtype)
            if below is not None:
                torch.mm(slope, weights, out=below[start : start + rows])
            if above is not None:
                above += slope.T @ piece
        ctx.save_for_backward(below, above)
        return total

    @staticmethod
    def backward(
        ctx: Any, outer: torch.Tensor
    ) -> tuple[torch.Tensor | None, torch.Tensor | None, None]:
        below, above = (
            None if made is None else made.mul_(outer.to(made.dtype)) for made in ctx.saved_tensors
        )
        return below, above, None


def count_targets(labels: torch.Tensor) -> int:
    """How many tokens of ``labels [rows, seq]`` are predicted: not the first, not ignored."""
    return int((labels[:, 1:] != IGNORED_LABEL).sum())


def summed_loss(trainee: "Trainee", input_ids: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Nats, summed over the targets of ``labels [rows, seq]`` (int64, -100: no loss)."""
    hidden, targets = trainee.hidden(input_ids)[:, :-1], labels[:, 1:]
    wanted = targets != IGNORED_LABEL
    return SummedCrossEntropy.apply(hidden[wanted], trainee.head, targets[wanted])
