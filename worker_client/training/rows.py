"""In which order recipe v1 takes the rows of a shard."""

from collections.abc import Iterator

import torch

from worker_client.contract.recipe import generator_seed


def row_stream(seed: int, round_number: int, shard: int, rows: int) -> Iterator[int]:
    """Row numbers without end: one permutation of ``rows`` after another."""
    generator = torch.Generator("cpu").manual_seed(generator_seed(seed, round_number, shard))
    while True:
        yield from torch.randperm(rows, generator=generator).tolist()
