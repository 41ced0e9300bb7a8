"""Cross-entropy of the next token, summed over targets, without ever holding all logits.

The head of a small model is a third of its work and most of its memory: 4 sequences of 512
tokens over Qwen3's vocabulary make 1.2 GB of float32 logits, several times over in autograd.
The head is frozen, so the gradient of its input is all that is needed, and both can be made
piece by piece in one pass.
"""

from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional

from worker_client.contract.recipe import IGNORED_LABEL

if TYPE_CHECKING:
    from peft import PeftModel

PIECE_LOGITS = 16 * 2**20  # 64 MiB of float32: large enough for full-speed products


class SummedCrossEntropy(torch.autograd.Function):
    """``hidden [n, d]``, frozen ``head [vocab, d]``, ``targets [n]`` int64 -> float32 scalar."""

    @staticmethod
    def forward(
        ctx: Any,
        hidden: torch.Tensor,
        head: torch.Tensor,
        targets: torch.Tensor,
    ) -> torch.Tensor:
        rows = max(1, PIECE_LOGITS // head.shape[0])
        total = torch.zeros((), dtype=torch.float32, device=hidden.device)
        gradient = torch.empty_like(hidden) if ctx.needs_input_grad[0] else None
        for start in range(0, len(targets), rows):
            piece, wanted = hidden[start : start + rows], targets[start : start + rows]
            logits = (piece @ head.T).float()
            logs = functional.log_softmax(logits, dim=-1)
            total += functional.nll_loss(logs, wanted, reduction="sum")
            if gradient is not None:
                slope = logs.exp_()
                slope[torch.arange(len(wanted), device=wanted.device), wanted] -= 1.0
                torch.mm(slope.to(head.dtype), head, out=gradient[start : start + rows])
        ctx.save_for_backward(gradient)
        return total

    @staticmethod
    def backward(ctx: Any, outer: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        (gradient,) = ctx.saved_tensors
        return gradient * outer.to(gradient.dtype), None, None


def count_targets(labels: torch.Tensor) -> int:
    """How many tokens of ``labels [rows, seq]`` are predicted: not the first, not ignored."""
    return int((labels[:, 1:] != IGNORED_LABEL).sum())


def summed_loss(model: "PeftModel", input_ids: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Nats, summed over the targets of ``labels [rows, seq]`` (int64, -100: no loss).

    Needs no attention mask: attention is causal and padding lies to the right, so that no
    token with a target sees any.
    """
    causal = model.get_base_model()
    hidden = causal.model(input_ids=input_ids, use_cache=False).last_hidden_state[:, :-1]
    targets = labels[:, 1:]
    wanted = targets != IGNORED_LABEL
    return SummedCrossEntropy.apply(hidden[wanted], causal.lm_head.weight, targets[wanted])
