"""The job ``olc``: the mean loss of each candidate on its data."""

import time
from collections.abc import Callable, Iterator
from itertools import islice
from math import isfinite
from pathlib import Path

import torch

from worker_client.contract.wire import WORST_LOSS
from worker_client.data.errors import DataError
from worker_client.data.shard import Shard, open_shard
from worker_client.evaluation.score import batch_rows, score
from worker_client.training.messages import Evaluate, Scored, Step, Subject
from worker_client.training.rows import row_stream
from worker_client.training.trainee import Trainee


def score_task(trainee: Trainee, task: Evaluate, on_step: Callable[[Step], None]) -> Scored:
    """Score every subject; ``on_step`` hears of each batch and may raise to end it between two.

    Raises:
        SnapshotRefused, DataError: an input file is not what the task says.
    """
    return _Scoring(trainee, task, on_step).all()


class _Scoring:
    def __init__(self, trainee: Trainee, task: Evaluate, on_step: Callable[[Step], None]) -> None:
        self._trainee, self._task, self._on_step = trainee, task, on_step
        self._shards = {path: self._open(path) for path in {it.data for it in task.subjects}}
        self._rows = [self._rows_of(subject) for subject in task.subjects]
        self._done, self._tokens, self._started = 0, 0, time.monotonic()

    def all(self) -> Scored:
        subjects, device = self._task.subjects, self._trainee.device
        scores = [self._one(it, rows) for it, rows in zip(subjects, self._rows, strict=True)]
        return Scored(
            lease_id=self._task.lease_id,
            losses=[loss for loss, _ in scores],
            tokens=scores[0][1],
            bytes=self._shards[subjects[0].data].target_bytes,
            seconds=time.monotonic() - self._started,
            device=device.label,
            dtype=device.dtype_name,
        )

    def _open(self, path: str) -> Shard:
        task, fmt = self._task, self._trainee.format
        return open_shard(Path(path), fmt, task.seq_len, task.mode, task.tokenizer_sha256)

    def _rows_of(self, subject: Subject) -> list[int]:
        """All rows, or those that training the subject's shard takes, each once."""
        shard, task = self._shards[subject.data], self._task
        if subject.shard is None:
            return list(range(shard.rows))
        stream = row_stream(task.seed, task.round, subject.shard, shard.rows)
        return sorted(set(islice(stream, min(task.batch_size * task.inner_steps, shard.rows))))

    def _one(self, subject: Subject, rows: list[int]) -> tuple[float, int]:
        self._trainee.load(Path(subject.weights))
        nats, tokens = score(self._trainee, self._batches(subject, rows), self._report)
        self._tokens += tokens
        if tokens == 0:
            raise DataError("there is nothing to score: no row has a token with a target")
        loss = nats / tokens
        return (loss if isfinite(loss) and loss <= WORST_LOSS else WORST_LOSS), tokens

    def _batches(
        self, subject: Subject, rows: list[int]
    ) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        shard, size = self._shards[subject.data], batch_rows(self._task.seq_len)
        for start in range(0, len(rows), size):
            ids, labels = shard.batch(rows[start : start + size])
            yield torch.from_numpy(ids), torch.from_numpy(labels)

    def _report(self, nats: float, tokens: int) -> None:
        self._done += 1
        size = batch_rows(self._task.seq_len)
        steps = sum(-(-len(rows) // size) for rows in self._rows)
        speed = (self._tokens + tokens) / max(1e-9, time.monotonic() - self._started)
        loss = nats / max(1, tokens)
        self._on_step(Step(step=self._done, steps=steps, loss=loss, tokens_per_s=speed))
