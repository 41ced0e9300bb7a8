"""Judge a result that nobody can repeat by what it does to losses.

Whoever trained a shard's rows predicts them better than rows of another shard, and predicts text
that nobody trains on no worse than before. This is the proof of computation of Gauntlet (Lidin and
others 2025, https://arxiv.org/abs/2505.21684), with rows that follow from the recipe. It shows less
than a repetition: that somebody trained about this, not that nothing was added to it.
"""

from dataclasses import dataclass

from django.conf import settings

from coordination.models import Run, Unit
from coordination.trust.policy import draw

# How much of what a result gains on its own shard's rows it must gain there more than elsewhere.
LEAST_OWN_SHARE = 0.0
# How much worse held-out text may be predicted, in parts of its loss.
MOST_HARM = 0.02


@dataclass(frozen=True)
class Gains:
    """Loss before minus loss after, in nats per token; None where it could not be measured.

    ``harm`` is the rise of the held-out loss as a part of it.
    """

    harm: float
    own: float | None
    other: float | None

    @classmethod
    def of(cls, losses: list[float]) -> "Gains":
        """From pairs (before, after) on held-out text, on the result's own rows, on others'."""
        held_out, *pairs = zip(losses[::2], losses[1::2], strict=True)
        own, other = [before - after for before, after in pairs] or (None, None)
        return cls((held_out[1] - held_out[0]) / max(held_out[0], 1e-9), own, other)

    @property
    def are_plausible(self) -> bool:
        """Whether honest training leads to such gains."""
        if self.harm > MOST_HARM:
            return False
        if self.own is None or self.other is None:
            return True
        return self.own > 0 and self.own - self.other > LEAST_OWN_SHARE * self.own


def shards_to_measure(run: Run, unit: Unit) -> list[int]:
    """The shard that the unit's target was trained on and one drawn by lot; none where the run
    serves no data or has one shard only."""
    if not run.serves_data or run.shards < 2:
        return []
    secret = settings.LEASE_SECRET + f":measures:{run.pk}".encode()
    ahead = 1 + int(draw(secret, unit.pk) * (run.shards - 1))
    return [unit.shard, (unit.shard + ahead) % run.shards]
