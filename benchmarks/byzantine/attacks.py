"""What hostile volunteers send, at strengths that were fixed before any rule was chosen.

Each strength is the one that the attack's paper, or a standard library of such attacks (ByzFL,
arXiv 2505.24802), takes by default; none is ever tuned against a rule. Attacks act on the
update, result minus snapshot. The attackers know everything that the honest ones send in the
round, as the papers assume.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from benchmarks.byzantine import poison
from benchmarks.byzantine.train import Pair

SCALE = 1000.0
GAUSSIAN_DEVIATION = 200.0
ALIE_DEVIATIONS = 1.5
IPM_WEAK, IPM_STRONG = 0.1, 2.0
HONEST_ROUNDS = 10
COPY_NOISE = 0.01


@dataclass(frozen=True)
class Scene:
    """What the ``f`` attackers see in one round.

    Args:
        round: from 1.
        starts: snapshots of this round and of all before it, ``[d]`` each, oldest first.
        honest: updates of the honest volunteers, ``[n - f, d]``.
        own: the attackers' own updates, trained as the recipe says, on poisoned data where the
            attack poisons, ``[f, d]``.
        first: their own results of round 1, ``[f, d]``.
    """

    round: int
    starts: Sequence[np.ndarray]
    honest: np.ndarray
    own: np.ndarray
    first: np.ndarray
    draw: np.random.Generator

    @property
    def n(self) -> int:
        return len(self.honest) + len(self.own)


@dataclass(frozen=True)
class Attack:
    """``send`` gives the attackers' updates ``[f, d]``; ``poison`` changes what they train on.

    ``colludes``: they also verify, vouching for each other and disputing everybody else;
    the others do not offer to verify. ``lazy`` ones want credit for work they have not done.
    ``trains``: the attackers' own training matters; it takes ``effort`` times the task's steps.
    """

    name: str
    title: str
    source: str
    send: Callable[[Scene], np.ndarray]
    poison: Callable[[Pair, np.random.Generator], Pair] | None = None
    colludes: bool = False
    lazy: bool = False
    trains: bool = True
    effort: int = 1


def honestly(scene: Scene) -> np.ndarray:
    return scene.own


def sign_flip(scene: Scene) -> np.ndarray:
    return -scene.own


def scale(scene: Scene) -> np.ndarray:
    return SCALE * scene.own


def gaussian(scene: Scene) -> np.ndarray:
    return GAUSSIAN_DEVIATION * scene.draw.standard_normal(scene.own.shape)


def alie_deviations(n: int, f: int) -> float:
    """The largest z with which enough honest values lie further out than the attackers'."""
    supporters = n // 2 + 1 - f
    return NormalDist().inv_cdf((n - f - supporters) / (n - f))


def alie(scene: Scene, z: float | None = None) -> np.ndarray:
    z = alie_deviations(scene.n, len(scene.own)) if z is None else z
    return _all_alike(scene, scene.honest.mean(axis=0) - z * scene.honest.std(axis=0))


def inner_product(scene: Scene, epsilon: float) -> np.ndarray:
    return _all_alike(scene, -epsilon * scene.honest.mean(axis=0))


def replace_model(scene: Scene) -> np.ndarray:
    """Together the attackers outweigh everybody: the mean becomes what they trained."""
    return scene.n / len(scene.own) * scene.own


def unchanged(scene: Scene) -> np.ndarray:
    return np.zeros_like(scene.own)


def disguised(scene: Scene) -> np.ndarray:
    """Noise as large as the first movement of the weights was, fading as 1 / round."""
    if len(scene.starts) == 1:
        return unchanged(scene)
    deviation = np.std(scene.starts[1] - scene.starts[0]) / (scene.round - 1)
    return deviation * scene.draw.standard_normal(scene.own.shape)


def copycat(scene: Scene) -> np.ndarray:
    """The first honest result: as it is, with 1 % of noise, with 2 % of noise, ..."""
    copied = _all_alike(scene, scene.honest[0])
    noise = scene.draw.standard_normal(copied.shape) * copied.std()
    return copied + COPY_NOISE * np.arange(len(copied))[:, None] * noise


def stale(scene: Scene) -> np.ndarray:
    return scene.first - scene.starts[-1]


def sleeper(scene: Scene) -> np.ndarray:
    return scene.own if scene.round <= HONEST_ROUNDS else inner_product(scene, IPM_STRONG)


def _all_alike(scene: Scene, update: np.ndarray) -> np.ndarray:
    return np.tile(update, (len(scene.own), 1))


ATTACKS: Mapping[str, Attack] = {
    attack.name: attack
    for attack in (
        Attack(
            "sign_flip",
            "sign flip",
            "own update times -1; Karimireddy et al. 2021, arXiv 2012.10333",
            sign_flip,
        ),
        Attack("scale", "×1000", "own update times 1000", scale),
        Attack(
            "gaussian",
            "Gaussian",
            "deviation 200 in every coordinate; Blanchard et al. 2017, arXiv 1703.02757",
            gaussian,
            trains=False,
        ),
        Attack(
            "alie",
            "a little (z of n, f)",
            "mean - z deviations, z = 0.18 from n = 10 and "
            "f = 3; Baruch et al. 2019, arXiv 1902.06156",
            alie,
            colludes=True,
            trains=False,
        ),
        Attack(
            "alie_strong",
            "a little (z 1.5)",
            "the same with z = 1.5, as in its experiments and ByzFL",
            lambda scene: alie(scene, ALIE_DEVIATIONS),
            colludes=True,
            trains=False,
        ),
        Attack(
            "ipm",
            "inner product (0.1)",
            "-0.1 times the honest mean; Xie et al. 2019, "
            "arXiv 1903.03936, at the strength of Karimireddy et al. 2021",
            lambda scene: inner_product(scene, IPM_WEAK),
            colludes=True,
            trains=False,
        ),
        Attack(
            "ipm_strong",
            "inner product (2)",
            "-2 times the honest mean, ByzFL's default",
            lambda scene: inner_product(scene, IPM_STRONG),
            colludes=True,
            trains=False,
        ),
        Attack(
            "label_flip",
            "label flip",
            "trained on byte 255 - b in place of b; Fang et al. 2020, arXiv 1911.11815",
            honestly,
            poison.flip_labels,
        ),
        Attack(
            "backdoor",
            "backdoor",
            "20 of 64 rows carry the phrase, three times the "
            "steps, updates times n / f; Bagdasaryan et al. 2020, arXiv 1807.00459",
            replace_model,
            poison.plant_phrase,
            colludes=True,
            effort=3,
        ),
        Attack(
            "unchanged",
            "free rider",
            "the snapshot as it came; Fraboni et al. 2021, arXiv 2006.11901",
            unchanged,
            lazy=True,
            trains=False,
        ),
        Attack(
            "disguised",
            "disguised rider",
            "the snapshot with noise of the first round's deviation / round; the same paper",
            disguised,
            lazy=True,
            trains=False,
        ),
        Attack(
            "copycat",
            "copycat",
            "another's result, with noise of 0, 1 and 2 %",
            copycat,
            lazy=True,
            trains=False,
        ),
        Attack(
            "stale", "stale replay", "the own result of round 1, again and again", stale, lazy=True
        ),
        Attack(
            "sleeper",
            "sleepers",
            "honest for ten rounds, then inner product (2)",
            sleeper,
            colludes=True,
        ),
    )
}
