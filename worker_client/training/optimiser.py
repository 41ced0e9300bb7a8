"""The optimisers of a recipe, their state fresh."""

from collections.abc import Callable
from typing import Any

import torch

from worker_client.contract.recipe import BETAS, EMBEDDING_FLOOR, EPS
from worker_client.training.trainee import Trainee

Groups = list[dict[str, Any]]
Optimisers = list[torch.optim.Optimizer]


class FlooredAdamW(torch.optim.Optimizer):
    """AdamW that takes each second moment for at least ``floor`` of its tensor's mean.

    Most rows of an embedding belong to tokens that are absent from a small step. AdamW divides
    their tiny gradients, which always point the same way, by themselves, and moves those rows as
    far as any other; all clients move them alike, so that no mean takes it out.
    """

    def __init__(self, groups: Groups, floor: float) -> None:
        super().__init__(groups, {"lr": 0.0, "weight_decay": 0.0})
        self.floor, self.steps = floor, 0

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        self.steps += 1
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._move(parameter, group["lr"], group["weight_decay"])

    def _move(self, parameter: torch.nn.Parameter, lr: float, weight_decay: float) -> None:
        state, gradient = self.state[parameter], parameter.grad
        assert gradient is not None
        if not state:
            state["first"], state["second"] = (torch.zeros_like(parameter) for _ in range(2))
        first, second = state["first"], state["second"]
        first.lerp_(gradient, 1 - BETAS[0])
        second.mul_(BETAS[1]).addcmul_(gradient, gradient, value=1 - BETAS[1])
        root = second.clamp(min=self.floor * second.mean())
        root.div_(1 - BETAS[1] ** self.steps).sqrt_().add_(EPS)
        parameter.mul_(1 - lr * weight_decay)
        parameter.addcdiv_(first, root, value=-lr / (1 - BETAS[0] ** self.steps))


def make_optimisers(trainee: Trainee, recipe: str) -> Optimisers:
    """``v1``: AdamW. ``v2``: the same, but for the embedding where that is trained."""
    embedding = trainee.embedding
    if recipe == "v1" or embedding is None:
        return [_adamw(trainee.groups())]
    others = _those(trainee.groups(), lambda parameter: parameter is not embedding)
    embeddings = _those(trainee.groups(), lambda parameter: parameter is embedding)
    return [_adamw(others), FlooredAdamW(embeddings, EMBEDDING_FLOOR)]


def set_lr(optimisers: Optimisers, lr: float) -> None:
    for optimiser in optimisers:
        for group in optimiser.param_groups:
            group["lr"] = lr


def _adamw(groups: Groups) -> torch.optim.AdamW:
    return torch.optim.AdamW(groups, betas=BETAS, eps=EPS, fused=True)


def _those(groups: Groups, wanted: Callable[[torch.nn.Parameter], bool]) -> Groups:
    """The groups with such parameters only, none of them empty."""
    chosen = [{**group, "params": list(filter(wanted, group["params"]))} for group in groups]
    return [group for group in chosen if group["params"]]
