"""The job ``on_isle``: from lease to a shard, and the text is gone again."""

import time

from worker_client.display import events
from worker_client.loop.task import Doing
from worker_client.state.records import FinishedResult
from worker_client.training.messages import Prepare


class Preparing(Doing):
    """Makes rows of the task's chunk of text. The text is deleted however it ends; what a killed
    worker leaves is deleted when the next one starts."""

    def make(self) -> FinishedResult:
        try:
            return self._make()
        finally:
            self._bench.state.forget_texts()

    def _make(self) -> FinishedResult:
        bench, task, state = self._bench, self._task, self._bench.state
        assert task.raw_text and task.tokenizer, "check_task refuses a task without"
        self._make_room()
        tokenizer = self._fetch("tokenizer", task.tokenizer)
        raw = self._fetch("text", task.raw_text, state.texts)
        out = state.result_path(task.lease_id)
        out.unlink(missing_ok=True)
        self._started = time.monotonic()
        command = Prepare.from_task(task, raw=str(raw), tokenizer=str(tokenizer), out=str(out))
        done = bench.trainer.prepare(command, self._drop_reason)
        bench.display.show(
            events.Prepared(
                lease_id=task.lease_id,
                round=task.round,
                lines=done.lines,
                kept=done.kept,
                rows=done.rows,
                seconds=done.seconds,
            )
        )
        return FinishedResult(
            sha256=done.sha256, size=done.size, tokens=0, train_s=done.seconds, loss=None
        )
