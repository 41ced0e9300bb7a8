"""Verb: held-out loss in nats per token and bits per byte."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import chain
from math import exp, log
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from worker_client.contract.formats import AdapterFormat, Format
from worker_client.contract.recipe import IGNORED_LABEL
from worker_client.data.errors import DataError
from worker_client.data.shard import open_shard
from worker_client.evaluation.score import BATCH_TOKENS, batch_rows, score
from worker_client.evaluation.windows import batches, windows
from worker_client.models.load import load_codec
from worker_client.models.progress import Progress, silent
from worker_client.models.store import ModelStore
from worker_client.training.device import choose_device
from worker_client.training.errors import SnapshotRefused
from worker_client.training.trainee import make_trainee

if TYPE_CHECKING:
    from worker_client.training.adapter import Adapter

LARGEST_EXPONENT = 700.0  # of what a float holds


@dataclass(frozen=True)
class Score:
    """``loss`` in nats per token; ``bytes`` are the UTF-8 bytes of the tokens predicted."""

    loss: float
    tokens: int
    bytes: int

    @property
    def bits_per_byte(self) -> float:
        return self.loss * self.tokens / log(2) / self.bytes

    @property
    def perplexity(self) -> float:
        """Per token: comparable only between models with the same tokenizer."""
        return exp(min(self.loss, LARGEST_EXPONENT))

    def to_json(self) -> dict:
        derived = {"bits_per_byte": self.bits_per_byte, "perplexity": self.perplexity}
        return asdict(self) | derived


class Evaluator:
    """A loaded model that scores texts and shards, in float32 unless told otherwise::

        evaluator = Evaluator(load_adapter_format("smollm2-135m-lora-r16"), ModelStore())
        before = evaluator.score_texts(texts)
        evaluator.use(Path("adapter.safetensors"))
        after = evaluator.score_texts(texts)

    Raises:
        ModelMissing, ModelCorrupt, DeviceMissing: name the remedy.
    """

    def __init__(
        self,
        fmt: Format,
        store: ModelStore,
        *,
        device: str = "auto",
        threads: int | None = None,
        dtype: str = "float32",
        tokenizer: Path | None = None,
    ) -> None:
        self.format, self.codec = fmt, load_codec(fmt, store, tokenizer)
        self.device = choose_device(device, dtype, threads)
        self.trainee = make_trainee(fmt, store, self.device)
        self._merged = False
        if isinstance(fmt, AdapterFormat):
            self.use(None)

    def use(self, snapshot: Path | None) -> None:
        """Put a snapshot in effect; None is the base model alone.

        Raises:
            SnapshotRefused: not of this format, or none for a model that starts from nothing.
        """
        from worker_client.training.adapter import Adapter

        if isinstance(self.trainee, Adapter):
            self._use_adapter(self.trainee, snapshot)
        elif snapshot is None:
            raise SnapshotRefused(f"{self.format.id} has no base model to score; name a snapshot")
        else:
            self.trainee.load(snapshot)

    def _use_adapter(self, trainee: "Adapter", adapter: Path | None) -> None:
        """Merged into the weights where they are float32, so that it costs nothing per token."""
        model = trainee.model.base_model
        if self._merged:
            model.unmerge_adapter()
        self._merged = adapter is not None and self.device.dtype is torch.float32
        if adapter is None:
            model.disable_adapter_layers()
            return
        trainee.load(adapter)
        model.enable_adapter_layers()
        if self._merged:
            model.merge_adapter()

    def score_texts(
        self, texts: Iterable[str], *, context: int = 512, progress: Progress = silent
    ) -> Score:
        """Score documents; every token after a document's first is predicted once.

        Raises:
            DataError: no document has two tokens.
        """
        encoded = self.codec.encode_batch(list(texts))
        pieces = chain.from_iterable(windows(ids, context) for ids in encoded)
        return self._score(batches(pieces, BATCH_TOKENS), progress)

    def score_shards(
        self, paths: Iterable[Path], *, seq_len: int, mode: str = "cpt", progress: Progress = silent
    ) -> Score:
        """Score every row of shards, as training would see them.

        Raises:
            DataError: a shard is not what ``seq_len`` and ``mode`` say.
        """
        shards = [open_shard(path, self.format, seq_len, mode, self.codec.sha256) for path in paths]
        rows = batch_rows(seq_len)
        parts = (
            shard.batch(range(start, min(start + rows, shard.rows)))
            for shard in shards
            for start in range(0, shard.rows, rows)
        )
        return self._score(((torch.from_numpy(i), torch.from_numpy(t)) for i, t in parts), progress)

    def _score(
        self, pairs: Iterable[tuple[torch.Tensor, torch.Tensor]], progress: Progress
    ) -> Score:
        size = 0

        def counted() -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
            nonlocal size
            for input_ids, labels in pairs:
                targets = labels[:, 1:]
                size += int(self.codec.byte_lengths[targets[targets != IGNORED_LABEL]].sum())
                yield input_ids, labels

        def tell(nats: float, tokens: int) -> None:
            progress("evaluate", tokens, None, "token")

        nats, tokens = score(self.trainee, counted(), tell)
        if size == 0:
            raise DataError("there is nothing to score: the text has no second token")
        return Score(nats / tokens, tokens, size)
