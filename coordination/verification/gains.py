"""Judge a result that nobody can repeat by what it does to losses.

Whoever trained a shard's rows predicts them better than before, and at least about as much better
as rows of another shard; and text that nobody trains on is predicted no worse, or little. This is
the proof of computation of Gauntlet (Lidin and others 2025, https://arxiv.org/abs/2505.21684), with
rows that follow from the recipe. It shows less than a repetition: that the result is of use where
the task's result should be, not that it is the task's result and that nothing was added to it.

``benchmarks/measures.py`` measures it. Seen in one run by its method, of ``scratch-tiny`` in 20
steps a round: honest results in ``topk`` gain on their own rows 0.93 to 1.07 times what they gain
on rows of a like shard, and 1.25 times or more what they gain on another language's; another
language's held-out loss rises by up to 3 %. A turned sign and noise lose on their own rows.
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
