"""Held-out loss of snapshots, in float32 on every machine."""

from pathlib import Path

from modelen_site.experiments.plan import Plan
from modelen_site.experiments.texts import Texts
from worker_client.contract.formats import load_format
from worker_client.evaluation.evaluate import Evaluator
from worker_client.models.store import ModelStore


class Judge:
    def __init__(self, plan: Plan, texts: Texts) -> None:
        self._plan, self._texts = plan, texts
        self._evaluator = Evaluator(
            load_format(plan.format), ModelStore(), device="cpu", tokenizer=texts.tokenizer
        )

    def validate(self, snapshot: Path) -> float:
        """Nats per token over the validation rows of all languages."""
        return self._score(snapshot, self._texts.validation)

    def test(self, snapshot: Path) -> tuple[float, dict[str, float]]:
        """Over all languages, as many rows of each, and of each language."""
        found = {name: self._score(snapshot, path) for name, path in self._texts.test.items()}
        return sum(found.values()) / len(found), found

    def _score(self, snapshot: Path, shard: Path) -> float:
        self._evaluator.use(snapshot)
        return self._evaluator.score_shards([shard], seq_len=self._plan.seq_len).loss
