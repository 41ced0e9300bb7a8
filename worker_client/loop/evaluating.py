"""The job ``olc``: from lease to a small JSON file of losses."""

import hashlib
import time

from worker_client.client.faults import Final
from worker_client.contract import wire
from worker_client.contract.errors import Refused
from worker_client.display import events
from worker_client.loop.candidates import weights_of
from worker_client.loop.task import Doing, show_ready
from worker_client.state.atomic import save
from worker_client.state.records import FinishedResult
from worker_client.training.messages import Evaluate, Scored, Subject
from worker_client.version import VERSION


class Evaluating(Doing):
    """Scores the task's candidates and writes down the answer."""

    def make(self) -> FinishedResult:
        bench, task = self._bench, self._task
        assert task.candidates and task.data, "check_task refuses a task without"
        self._make_room()
        show_ready(bench.display, bench.trainer.load(self._format.id))
        subjects = [self._subject(one, task.data) for one in task.candidates]
        self._started = time.monotonic()
        command = Evaluate.from_task(task, subjects)
        scored = bench.trainer.evaluate(command, self._step_done, self._drop_reason)
        return self._seal(scored)

    def _subject(self, candidate: wire.Candidate, usual: wire.FileRef) -> Subject:
        snapshot = self._fetch("snapshot", candidate.snapshot)
        result = self._fetch("candidate", candidate.result) if candidate.result else None
        data = self._fetch("data", candidate.data or usual)
        folder = self._bench.state.results
        try:
            weights = weights_of(candidate, self._task, self._format, snapshot, result, folder)
        except Refused as refused:
            raise Final(f"a candidate is not what it should be: {refused.detail}") from None
        return Subject(weights=str(weights), data=str(data), shard=candidate.shard)

    def _seal(self, scored: Scored) -> FinishedResult:
        answer = wire.Evaluation(
            losses=scored.losses,
            tokens=scored.tokens,
            bytes=scored.bytes,
            seconds=round(scored.seconds, 3),
            device=scored.device,
            dtype=scored.dtype,
            version=VERSION,
        )
        path = self._bench.state.result_path(self._task.lease_id)
        save(path, answer)
        self._tell(scored)
        return FinishedResult(
            sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
            size=path.stat().st_size,
            tokens=0,
            train_s=scored.seconds,
            loss=scored.losses[0],
        )

    def _tell(self, scored: Scored) -> None:
        task = self._task
        self._bench.display.show(
            events.Scored(
                lease_id=task.lease_id,
                round=task.round,
                losses=scored.losses,
                tokens=scored.tokens,
                seconds=scored.seconds,
            )
        )
