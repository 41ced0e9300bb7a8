"""The outer step: merge a round's results by a rule and move the weights with an optimiser.

The same arguments give the same bytes, in any number of processes; memory grows neither with
the vector nor with the number of results.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import sqrt

import numpy as np

from coordination.aggregation.average import Average, Contribution, averages, plan_average
from coordination.aggregation.lora import Pair, bias, exact_averages
from coordination.aggregation.outer import Nesterov, Outer
from coordination.aggregation.rules import RULES, Rule, SharesRule, choose, hostile
from coordination.aggregation.sums import squared_distance
from coordination.aggregation.vectors import Slice, VectorFile, as_bytes

__all__ = ["Contribution", "MergePlan", "MergeReport", "aggregate", "merge"]

Write = Callable[[memoryview], object]


@dataclass(frozen=True)
class MergePlan:
    """How a run merges.

    Args:
        rule: one of ``RULES``; the median or the mean stands in when results are too few.
        byzantine_share: 0 <= share < 0.5 of the results that are not trusted, screened ones
            among them, which screens and rule together shall survive.
        clip: limit the norm of every update to the median norm first.
        outer: the optimiser that takes the step.
        pairs: the LoRA modules of the vector, of which the bias of averaging is measured.
        exact: average the modules' products instead; ``rule`` must be one that gives shares.
    """

    rule: Rule = RULES["mean"]
    byzantine_share: float = 0.25
    clip: bool = False
    outer: Outer = field(default_factory=Nesterov)
    pairs: tuple[Pair, ...] = ()
    exact: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.byzantine_share < 0.5:
            raise ValueError(f"the hostile share {self.byzantine_share} must be in [0, 0.5)")
        if self.exact and not (self.pairs and isinstance(self.rule, SharesRule)):
            raise ValueError(f"{self.rule.name} cannot merge products of LoRA's factors")


@dataclass(frozen=True)
class MergeReport:
    """What a merge did.

    ``gradient_norm`` and ``update_norm`` are the L2 norms of the outer gradient (start minus
    merged) and of the step taken. ``shares`` is how much of each result's update was merged,
    or None where the rule works value by value. ``fallback`` says why ``rule`` is not the one
    that was planned. ``lora_bias`` is what averaging LoRA's factors does to their product, see
    ``lora.bias``; None where there are none.
    """

    gradient_norm: float
    update_norm: float
    rule: str = "mean"
    fallback: str = ""
    shares: tuple[float, ...] | None = None
    lora_bias: float | None = None


def merge(
    start: VectorFile,
    state: Sequence[VectorFile],
    results: Sequence[Contribution],
    plan: MergePlan,
    write_weights: Write,
    write_state: Sequence[Write],
    left_out: int = 0,
) -> MergeReport:
    """Merge ``results``, in the order given, into the next weights and optimiser state.

    All vectors have ``start.count`` values. ``state`` and ``write_state`` are in the order of
    ``plan.outer.state_names``; ``state`` is empty in a run's first round. The writers get
    float32 bytes in order; a slice they are given is theirs only during the call. ``left_out``
    is how many results the screens took before: so many fewer are left to survive.

    Raises:
        ValueError: no results, or vectors of different lengths or number.
    """
    _check(start, state, results, plan.outer)
    average = _plan(start, results, plan, left_out)
    gradient, update = 0.0, 0.0
    for begin, end, w, merged in _slices(start, results, average, plan):
        old = [vector.read(begin, end) for vector in state]
        new_w, new_state = plan.outer.step(w, merged, old)
        write_weights(as_bytes(new_w))
        for write, values in zip(write_state, new_state, strict=True):
            write(as_bytes(values))
        gradient += squared_distance(w, merged)
        update += squared_distance(new_w, w)
    report = _report(average, sqrt(gradient), sqrt(update))
    return replace(report, lora_bias=_bias(start, results, average, plan))


def aggregate(
    start: VectorFile,
    results: Sequence[Contribution],
    plan: MergePlan,
    write: Write,
    left_out: int = 0,
) -> MergeReport:
    """The rule without the outer step: ``write`` gets the merged vector. See ``merge``."""
    _check(start, (), results, plan.outer)
    average = _plan(start, results, plan, left_out)
    moved = 0.0
    for _, _, w, merged in _slices(start, results, average, plan):
        write(as_bytes(merged))
        moved += squared_distance(w, merged)
    return _report(average, sqrt(moved), sqrt(moved))


def _plan(
    start: VectorFile, results: Sequence[Contribution], plan: MergePlan, left_out: int
) -> Average:
    doubted = sum(not result.trusted for result in results) + left_out
    f = max(0, hostile(doubted, plan.byzantine_share) - left_out)
    choice = choose(plan.rule, len(results), f, shares_only=plan.exact)
    return plan_average(start, results, choice, plan.clip)


def _slices(
    start: VectorFile, results: Sequence[Contribution], average: Average, plan: MergePlan
) -> Iterator[Slice]:
    if plan.exact and average.merged_shares is not None:
        vectors = [result.vector for result in results]
        return exact_averages(start, vectors, average.merged_shares, plan.pairs)
    return averages(start, results, average)


def _bias(
    start: VectorFile, results: Sequence[Contribution], average: Average, plan: MergePlan
) -> float | None:
    """Of the shares that were merged; of equal ones where the rule works value by value."""
    if not plan.pairs:
        return None
    shares = average.merged_shares
    if shares is None:
        shares = np.full(len(results), 1 / len(results))
    return bias(start, [result.vector for result in results], shares, plan.pairs)


def _report(average: Average, gradient: float, update: float) -> MergeReport:
    shares = average.merged_shares
    return MergeReport(
        gradient,
        update,
        average.choice.rule.name,
        average.choice.fallback,
        None if shares is None else tuple(shares.tolist()),
    )


def _check(
    start: VectorFile,
    state: Sequence[VectorFile],
    results: Sequence[Contribution],
    outer: Outer,
) -> None:
    if not results:
        raise ValueError("a merge needs at least one result")
    if len(state) not in (0, len(outer.state_names)):
        raise ValueError(f"{len(state)} state vectors where {outer.state_names} belong")
    for vector in (*(result.vector for result in results), *state):
        if vector.count != start.count:
            raise ValueError(
                f"{vector.path.name} has {vector.count} values where the snapshot has {start.count}"
            )
