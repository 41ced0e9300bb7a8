"""The one loop that scores: a loaded model over batches, in nats."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import torch

from worker_client.training.loss import count_targets, summed_loss

if TYPE_CHECKING:
    from worker_client.training.trainee import Trainee

BATCH_TOKENS = 1024


def batch_rows(seq_len: int) -> int:
    """How many rows of ``seq_len`` tokens are scored at once."""
    return max(1, BATCH_TOKENS // seq_len)


@torch.inference_mode()
def score(
    trainee: "Trainee",
    pairs: Iterable[tuple[torch.Tensor, torch.Tensor]],
    on_batch: Callable[[float, int], None],
) -> tuple[float, int]:
    """``(nats, tokens)`` over batches ``(input_ids, labels)``, int64 ``[rows, seq]``.

    ``on_batch`` hears both so far after each batch, and may raise to end it.
    """
    nats, tokens, place = 0.0, 0, trainee.device.place
    for input_ids, labels in pairs:
        nats += float(summed_loss(trainee, input_ids.to(place), labels.to(place)))
        tokens += count_targets(labels)
        on_batch(nats, tokens)
    return nats, tokens
