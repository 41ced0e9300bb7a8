"""The merging rules by name, and which one stands in when there are too few results."""

from collections.abc import Mapping
from typing import NamedTuple

from coordination.aggregation.rules.coordinate import Median, TrimmedMean
from coordination.aggregation.rules.distance import (
    CenteredClipping,
    GeometricMedian,
    Krum,
    MultiKrum,
)
from coordination.aggregation.rules.mean import Mean
from coordination.aggregation.rules.rule import RanksRule, Rule, SharesRule, hostile

__all__ = [
    "DEFAULT_RULE",
    "DEFAULT_SHARE",
    "RULES",
    "Choice",
    "RanksRule",
    "Rule",
    "SharesRule",
    "choose",
    "hostile",
]

RULES: Mapping[str, Rule] = {
    rule.name: rule
    for rule in (
        Mean("mean"),
        Mean("token_mean", by_tokens=True),
        Median("median"),
        TrimmedMean("trimmed_mean"),
        Krum("krum"),
        MultiKrum("multi_krum"),
        GeometricMedian("geometric_median"),
        CenteredClipping("centered_clipping"),
    )
}
# What a run merges by unless told otherwise. With three hostile results of ten, multi-Krum after
# the screens keeps most of what a round gains: docs/robustness.md.
DEFAULT_RULE, DEFAULT_SHARE = "multi_krum", 0.3
STAND_INS = (RULES["median"], RULES["geometric_median"], RULES["mean"])


class Choice(NamedTuple):
    """The rule to use, for how many hostile results, and why it is not the one wanted."""

    rule: Rule
    f: int
    fallback: str = ""


def choose(wanted: Rule, n: int, f: int, *, shares_only: bool = False) -> Choice:
    """``wanted``, or if ``n`` results, ``f`` of them hostile, are too few for it the median, or
    of one or two the mean.

    ``shares_only``: where the median would stand in, the geometric median does.
    """
    if n >= wanted.fewest(f):
        return Choice(wanted, f)
    fitting = [r for r in STAND_INS if isinstance(r, SharesRule) or not shares_only]
    rule = next(rule for rule in fitting if rule is not wanted and n >= rule.fewest(f))
    return Choice(
        rule, f, f"{wanted.name} needs {wanted.fewest(f)} results against {f} hostile, {n} came"
    )
