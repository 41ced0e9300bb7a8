"""Training recipes: the numbers that follow from a task's fields alone.

``docs/protocol-v1.md`` is the definition; ``vectors/recipe-v1.json`` holds known answers that
an implementation in any language can be tested against, ``recipe-v2.json`` those of what ``v2``
does otherwise. What needs torch (row order, optimiser) lives in the worker and is held to the
same vectors.
"""

import hashlib
from dataclasses import dataclass
from math import cos, pi

RECIPES = ("v1", "v2")
# Rules by which ``on_isle`` makes rows of articles, as fixed as the recipe.
CLEANINGS = ("v1",)
# Composed characters (NFC) may take three times the bytes, and no token stands for less than one.
MOST_TOKENS_PER_BYTE = 3
BETAS = (0.9, 0.95)
EPS = 1e-8
CLIP_NORM = 1.0
WEIGHT_DECAY_ADAPTER = 0.0
WEIGHT_DECAY_SCRATCH = 0.1  # of matrices
# v2: the least second moment of a trained embedding, in parts of the mean over the tensor.
EMBEDDING_FLOOR = 0.1
RISE_STEPS = 10  # v2: of each task, but at most a third of it
IGNORED_LABEL = -100


def generator_seed(seed: int, round_number: int, shard: int) -> int:
    """Seed of the row-order generator: 63 bits, from the run's seed, the round and the shard."""
    digest = hashlib.sha256(f"{seed}:{round_number}:{shard}".encode()).digest()
    return int.from_bytes(digest[:8], "little") & (2**63 - 1)


@dataclass(frozen=True)
class Schedule:
    """Warm-up over the first 2 % of all steps, then cosine down to a tenth of the peak. ``v2``
    also rises over the first steps of each task, in which the optimiser knows little."""

    lr: float
    rounds: int
    inner_steps: int
    recipe: str = "v1"

    def at(self, round_number: int, inner_step: int) -> float:
        """Learning rate of ``inner_step`` (from 0) in ``round_number`` (from 1)."""
        return self._of_all(round_number, inner_step) * min(1.0, (inner_step + 1) / self._rise)

    @property
    def _rise(self) -> int:
        """Over how many steps of a task the rate rises."""
        return 1 if self.recipe == "v1" else max(1, min(RISE_STEPS, self.inner_steps // 3))

    def _of_all(self, round_number: int, inner_step: int) -> float:
        total = self.rounds * self.inner_steps
        step = (round_number - 1) * self.inner_steps + inner_step
        warmup = max(1, total // 50)
        if step < warmup:
            return self.lr * (step + 1) / warmup
        progress = (step - warmup) / max(1, total - warmup)
        return self.lr * (0.1 + 0.45 * (1 + cos(pi * progress)))


def largest_update_norm(lr: float, inner_steps: int, parameters: int) -> float:
    """An L2 norm that no honest run of the recipe can exceed, for refusing absurd results.

    AdamW with these betas moves a coordinate by at most about 1.2 times the learning rate a
    step, so H steps move P coordinates by at most ``1.2 * lr * H * sqrt(P)``. Four times that
    leaves room for weight decay and rounding.
    """
    return 4.0 * lr * inner_steps * parameters**0.5
