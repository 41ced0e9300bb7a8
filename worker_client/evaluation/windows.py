"""How a long document is cut so that every token after its first is predicted exactly once."""

from collections.abc import Iterable, Iterator

import numpy as np
import torch

from worker_client.contract.recipe import IGNORED_LABEL


def windows(ids: list[int], context: int) -> Iterator[list[int]]:
    """Pieces of at most ``context`` tokens; each begins with its predecessor's last token."""
    for start in range(0, len(ids) - 1, context - 1):
        yield ids[start : start + context]


def batches(
    pieces: Iterable[list[int]], tokens: int
) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """``(input_ids, labels)``, int64 ``[rows, longest]``, at most ``tokens`` in each.

    Pieces of like length go together, longest first, so that little padding is computed.
    """
    waiting = sorted(pieces, key=len, reverse=True)
    while waiting:
        rows = max(1, tokens // len(waiting[0]))
        some, waiting = waiting[:rows], waiting[rows:]
        yield _padded(some)


def _padded(pieces: list[list[int]]) -> tuple[torch.Tensor, torch.Tensor]:
    ids = np.zeros((len(pieces), len(pieces[0])), np.int64)
    labels = np.full_like(ids, IGNORED_LABEL)
    for row, piece in enumerate(pieces):
        ids[row, : len(piece)] = labels[row, : len(piece)] = piece
    return torch.from_numpy(ids), torch.from_numpy(labels)
