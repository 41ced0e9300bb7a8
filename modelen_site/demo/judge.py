"""Held-out bits per byte, before and after: one loaded model scores both languages each time."""

from pathlib import Path

from modelen_site.demo.texts import Texts
from worker_client.contract.formats import load_adapter_format
from worker_client.models.progress import Progress
from worker_client.models.store import ModelStore


class Judge:
    """Loads the base model, always in float32: both scores are then worth comparing."""

    def __init__(self, format_id: str, models: Path, texts: Texts) -> None:
        # Here, since torch takes seconds to import and other steps come first.
        from worker_client.evaluation.evaluate import Evaluator

        self._evaluator = Evaluator(
            load_adapter_format(format_id), ModelStore(models), device="cpu"
        )
        self._texts = {"tr": texts.turkish, "en": texts.english}

    def score(self, adapter: Path | None, progress: Progress) -> dict[str, float]:
        """``{"tr": bits per byte, "en": ...}`` with a snapshot, or of the base model alone."""
        self._evaluator.use(adapter)
        return {
            language: round(self._evaluator.score_texts(texts, progress=progress).bits_per_byte, 6)
            for language, texts in self._texts.items()
        }
