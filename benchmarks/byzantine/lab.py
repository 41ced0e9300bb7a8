"""One arm: a run of the tiny model with ten volunteers, three of them hostile."""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

import numpy as np

from benchmarks.byzantine import model, poison
from benchmarks.byzantine.attacks import ATTACKS, Attack, Scene
from benchmarks.byzantine.checks import Checks
from benchmarks.byzantine.coordinator import Coordinator, Defence
from benchmarks.byzantine.text import Corpus, read_corpus
from benchmarks.byzantine.train import (
    Pair,
    batches,
    held_out_loss,
    rates_of,
    train,
    train_base,
)
from worker_client.contract.recipe import Schedule, largest_update_norm

VOLUNTEERS, HOSTILE = 10, 3
HONEST = VOLUNTEERS - HOSTILE
REST = range(HONEST, VOLUNTEERS)  # the last tasks are the attackers', where there are any
SCHEDULE = Schedule(lr=1e-2, rounds=16, inner_steps=4)
NOBODY = "nobody"


@dataclass(frozen=True)
class Arm:
    """``attack`` is a name or ``NOBODY``; ``languages``: each shard is one language."""

    attack: str
    defence: Defence
    seed: int
    languages: bool = False

    @property
    def name(self) -> str:
        kind = "languages" if self.languages else "mixed"
        return f"{self.attack}/{self.defence.name}/{kind}/seed {self.seed}"


@dataclass(frozen=True)
class Outcome:
    """How an arm ended.

    Args:
        start_loss, loss: held-out nats per byte before and after; ``loss`` is None when weights
            stopped being finite.
        backdoor: share of held-out texts that the model continues as the backdoor wants.
        hostile_merged: of the attackers' results, how many were merged at all.
        hostile_trust: the longest row of valid checks that an attacker has at the end.
        blamed: checks that honest volunteers lost.
        checks: repetitions that were made.
    """

    start_loss: float
    loss: float | None
    backdoor: float
    hostile_merged: int
    hostile_trust: int
    blamed: int
    checks: int


@cache
def stage(seed: int, languages: bool) -> tuple[Corpus, np.ndarray]:
    """The text and the base model."""
    corpus = read_corpus(VOLUNTEERS, languages)
    return corpus, train_base(corpus.base, seed)


def tasks(
    seed: int, languages: bool, number: int, shards: range, effort: int = 1
) -> Iterator[Pair]:
    """What is to be trained on in round ``number``, with ``effort`` times its steps."""
    corpus, _ = stage(seed, languages)
    for shard in shards:
        steps = effort * SCHEDULE.inner_steps
        rows = batches(corpus.shards[shard], steps, seed, number, shard)
        yield rows, rows


@lru_cache(maxsize=4 * SCHEDULE.rounds)
def honest_results(
    start: bytes, seed: int, languages: bool, number: int, shards: range
) -> np.ndarray:
    """What honest volunteers make of a round, ``[shards, d]``: where a rule leaves all attackers
    out, arm after arm comes by the same snapshots, which need not be trained from again."""
    data = list(tasks(seed, languages, number, shards))
    return train(np.frombuffer(start, np.float32), data, rates_of(SCHEDULE, number))


def run_arm(arm: Arm) -> Outcome:
    with tempfile.TemporaryDirectory(prefix="byzantine-") as folder:
        return _Run(arm, Path(folder)).finish()


class _Run:
    def __init__(self, arm: Arm, folder: Path) -> None:
        self.arm = arm
        self.attack = ATTACKS.get(arm.attack)
        if self.attack is None and arm.attack != NOBODY:
            raise ValueError(f"unknown attack {arm.attack!r}; known: {', '.join(ATTACKS)}")
        self.corpus, base = stage(arm.seed, arm.languages)
        hostile = REST if self.attack else ()
        # Generators of their own, so that who verifies never depends on what is sent.
        self.draw = np.random.default_rng([arm.seed, 1])
        self.checks = Checks(
            VOLUNTEERS,
            frozenset(hostile),
            self.attack is not None and self.attack.colludes,
            np.random.default_rng([arm.seed, 2]),
            np.random.default_rng([arm.seed, 3]),
        )
        limit = largest_update_norm(SCHEDULE.lr, SCHEDULE.inner_steps, model.PARAMETERS)
        self.coordinator = Coordinator(folder, base, arm.defence, limit, self.checks)
        self.starts: list[np.ndarray] = []
        self.first = np.empty(0)

    def finish(self) -> Outcome:
        before = held_out_loss(self.coordinator.weights, self.corpus.held_out)
        for number in range(1, SCHEDULE.rounds + 1):
            self._round(number)
            if not np.isfinite(self.coordinator.weights).all():
                return self._outcome(before, None)
        after = held_out_loss(self.coordinator.weights, self.corpus.held_out)
        return self._outcome(before, after if np.isfinite(after) else None)

    def _round(self, number: int) -> None:
        self.starts.append(start := self.coordinator.weights)
        honest = self._honest(start, number, range(HONEST))
        if self.attack is None:
            results = np.concatenate([honest, self._honest(start, number, REST)])
            self.coordinator.end_round(number, results, results)
            return
        own = self._own(self.attack, start, number)
        sent = self._attack(self.attack, number, honest - start, own - start) + start
        repeated = self._honest(start, number, REST) if self.arm.defence.screens else sent
        self.coordinator.end_round(
            number, np.concatenate([honest, sent]), np.concatenate([honest, repeated])
        )

    def _honest(self, start: np.ndarray, number: int, shards: range) -> np.ndarray:
        return honest_results(start.tobytes(), self.arm.seed, self.arm.languages, number, shards)

    def _own(self, attack: Attack, start: np.ndarray, number: int) -> np.ndarray:
        """The attackers' own results, before they do anything to them."""
        if not attack.trains:
            return np.tile(start, (HOSTILE, 1))
        if attack.poison is None:
            return self._honest(start, number, REST)
        clean = tasks(self.arm.seed, self.arm.languages, number, REST, attack.effort)
        data = [attack.poison(task, self.draw) for task in clean]
        return train(start, data, np.repeat(rates_of(SCHEDULE, number), attack.effort).tolist())

    def _attack(
        self, attack: Attack, number: int, honest: np.ndarray, own: np.ndarray
    ) -> np.ndarray:
        if number == 1:
            self.first = own + self.starts[0]
        return attack.send(Scene(number, self.starts, honest, own, self.first, self.draw))

    def _outcome(self, before: float, after: float | None) -> Outcome:
        weights, hostile = self.coordinator.weights, self.checks.attackers
        standings = [self.checks.standing(volunteer) for volunteer in range(VOLUNTEERS)]
        return Outcome(
            start_loss=before,
            loss=after,
            backdoor=0.0 if after is None else poison.success_rate(weights, self.corpus.held_out),
            hostile_merged=sum(i in hostile for used in self.coordinator.used for i in used),
            hostile_trust=max((standings[i].consecutive_valid for i in hostile), default=0),
            blamed=sum(s.invalid for i, s in enumerate(standings) if i not in hostile),
            checks=self.checks.checked,
        )
