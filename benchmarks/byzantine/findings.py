"""What the outcomes say: shares of the clean run's gain, over seeds, and the bars."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

import numpy as np

from benchmarks.byzantine.attacks import ATTACKS
from benchmarks.byzantine.coordinator import Defence
from benchmarks.byzantine.lab import NOBODY, Arm, Outcome
from benchmarks.table import Bar

MEAN = Defence("mean", clip=False)
HARMFUL = 0.05  # of the gain: an attack that costs the plain mean less is outside the bars
RULE_ALONE, WITH_VERIFICATION = 0.30, 0.05  # of the gain, that may be lost
NO_ATTACKER, LANGUAGES = 0.005, 0.03  # of the plain mean's loss
BACKDOOR_POINTS, BACKDOOR_TIMES = 0.02, 2
WORST = 99.0  # shown for weights that are not finite and losses beyond it


class Missing(str):
    """The name of a bar that cannot be judged yet."""

    __slots__ = ()

    def __str__(self) -> str:
        return f"NOT MEASURED  {super().__str__()}"


@dataclass(frozen=True)
class Spread:
    """A mean over seeds with its extremes."""

    mean: float
    low: float
    high: float
    count: int

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread | None":
        """None of no values."""
        return (
            cls(float(np.mean(values)), min(values), max(values), len(values)) if values else None
        )

    def half(self, unit: float, digits: int) -> str:
        """``" ±"`` and half the distance of the extremes times ``unit``; of one seed nothing."""
        if self.count == 1:
            return ""
        return f" ±{unit * (self.high - self.low) / 2:.{digits}f}"


class Findings:
    """Of ``outcomes`` by the names of their arms, over those ``seeds`` that have been run.

    What has not been run at all is None.
    """

    def __init__(self, outcomes: Mapping[str, Outcome], seeds: Sequence[int]) -> None:
        self.outcomes, self.seeds = outcomes, seeds

    def of(self, attack: str, defence: Defence, languages: bool = False) -> dict[int, Outcome]:
        """By seed."""
        names = {seed: Arm(attack, defence, seed, languages).name for seed in self.seeds}
        return {s: self.outcomes[name] for s, name in names.items() if name in self.outcomes}

    def lost(self, attack: str, defence: Defence) -> Spread | None:
        """Which share of the clean run's gain, by plain mean with nobody hostile, is lost."""
        clean, found = self.of(NOBODY, MEAN), self.of(attack, defence)
        return Spread.of([_lost(clean[seed], found[seed]) for seed in found if seed in clean])

    def relative(self, attack: str, defence: Defence, languages: bool = False) -> Spread | None:
        """Final held-out loss over that of the clean run."""
        clean = self.of(NOBODY, MEAN, languages)
        found = self.of(attack, defence, languages)
        losses = [_loss(found[seed]) / _loss(clean[seed]) for seed in found if seed in clean]
        return Spread.of(losses)

    def backdoor(self, attack: str, defence: Defence) -> Spread | None:
        return Spread.of([outcome.backdoor for outcome in self.of(attack, defence).values()])

    def is_harmful(self, attack: str) -> bool:
        lost = self.lost(attack, MEAN)
        return lost is None or lost.mean > HARMFUL

    def worst(self, defence: Defence) -> tuple[str, Spread] | None:
        """The harmful attack that costs most; None unless all of them have been run."""
        found = {name: self.lost(name, defence) for name in ATTACKS if self.is_harmful(name)}
        known = {name: lost for name, lost in found.items() if lost is not None}
        if len(known) < len(found):
            return None
        attack = max(known, key=lambda name: known[name].mean)
        return attack, known[attack]

    def bars(self, alone: Defence, verified: Defence) -> list[Bar | Missing]:
        """How the recommended default stands, without and with verification."""
        return [
            self._lost_bar(alone, RULE_ALONE),
            self._lost_bar(verified, WITH_VERIFICATION),
            self._backdoor_bar(alone),
            self._backdoor_bar(verified),
            self._relative_bar(verified, False, NO_ATTACKER),
            self._relative_bar(verified, True, LANGUAGES),
            self._trust_bar(verified),
        ]

    def _lost_bar(self, defence: Defence, limit: float) -> Bar | Missing:
        worst = self.worst(defence)
        if worst is None:
            return Missing(f"{defence.name}, gain lost to the worst attack")
        name = f"{defence.name}, gain lost to the worst attack ({worst[0]})"
        return Bar(name, 100 * worst[1].mean, 100 * limit, "%")

    def _backdoor_bar(self, defence: Defence) -> Bar | Missing:
        name = f"{defence.name}, success of the backdoor"
        clean, rate = self.backdoor(NOBODY, MEAN), self.backdoor("backdoor", defence)
        if clean is None or rate is None:
            return Missing(name)
        limit = max(BACKDOOR_TIMES * clean.mean, clean.mean + BACKDOOR_POINTS)
        return Bar(name, 100 * rate.mean, 100 * limit, "%")

    def _relative_bar(self, defence: Defence, languages: bool, limit: float) -> Bar | Missing:
        kind = "one language a shard" if languages else "mixed shards"
        name = f"{defence.name}, nobody hostile, {kind}, loss above plain mean's"
        above = self.relative(NOBODY, defence, languages)
        return Bar(name, 100 * (above.mean - 1), 100 * limit, "%") if above else Missing(name)

    def _trust_bar(self, defence: Defence) -> Bar | Missing:
        name = "trust earned by copycats and free riders"
        found = [self.of(name, defence) for name, attack in ATTACKS.items() if attack.lazy]
        if not all(found):
            return Missing(name)
        trust = max(o.hostile_trust for outcomes in found for o in outcomes.values())
        return Bar(name, trust, 0, "valid checks")


def _loss(outcome: Outcome) -> float:
    return outcome.loss if outcome.loss is not None and isfinite(outcome.loss) else float("inf")


def _lost(clean: Outcome, outcome: Outcome) -> float:
    gain = clean.start_loss - _loss(clean)
    return min(WORST, (_loss(outcome) - _loss(clean)) / gain)
