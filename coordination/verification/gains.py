"""Judge a result that nobody can repeat by what it does to losses.

Whoever trained a shard's rows predicts them better than before, and at least about as much better
as rows of another shard; and text that nobody trains on is predicted no worse, or little. This is
the proof of computation of Gauntlet (Lidin and others 2025, https://arxiv.org/abs/2505.21684), with
rows that follow from the recipe. It shows less than a repetition: that the result is of use where
the task's result should be, not that it is the task's result and that nothing was added to it.

``benchmarks/measures.py`` measures it. Seen of ``scratch-tiny`` in 20 steps a round, rounds 2 to 4:
honest results in ``topk`` gain on their own rows 0.97 to 1.06 times what they gain on rows of a
like shard, and 1.31 times or more what they gain on another language's; held-out loss rises by at
most 1 %. Noise loses on its own rows. So does a turned sign where shards are alike; with one
language a shard two of twelve gained, and 0.82 times what they gained elsewhere or more.
"""

from dataclasses import dataclass

# What a result must gain on its own shard's rows, in parts of what it gains on another shard's.
LEAST_OWN_GAIN = 0.75
# How much worse held-out text may be predicted, in parts of its loss.
MOST_HARM = 0.1


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
        """From losses in pairs, before and after: on held-out text, on the rows of the result's
        own shard, on those of another."""
        (before, after), *pairs = zip(losses[::2], losses[1::2], strict=True)
        own, other = [first - second for first, second in pairs] or (None, None)
        return cls((after - before) / max(before, 1e-9), own, other)

    @property
    def are_plausible(self) -> bool:
        """Whether honest training leads to such gains."""
        if self.harm > MOST_HARM:
            return False
        if self.own is None or self.other is None:
            return True
        return self.own > 0 and self.own >= LEAST_OWN_GAIN * self.other
