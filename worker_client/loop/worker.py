"""The worker's life with one coordinator: lease after lease until somebody says it is over.

What is in hand is on disk before it is used (``state.records.Work``), so a kill at any
instant costs at most the training of one task:

    request id drawn -> asked again with it, gets the same lease or draws anew
    leased           -> the same, and files that are there are not fetched again
    trained          -> delivered again, gets the stored verdict if it had one
"""

import random

from worker_client.client import coordinator
from worker_client.client.faults import Final, ProtocolBroken, Stopped
from worker_client.contract import wire
from worker_client.contract.errors import Refusal
from worker_client.display import events
from worker_client.loop import delivery
from worker_client.loop.evaluating import Evaluating
from worker_client.loop.limits import ENCODINGS, check_about, check_task
from worker_client.loop.preparing import Preparing
from worker_client.loop.registration import Identity, register
from worker_client.loop.task import STOPPED, UNWANTED, Bench, Training, show_ready
from worker_client.loop.trainer import TaskDropped, TrainingFailed
from worker_client.state.records import Work
from worker_client.version import VERSION

MAX_SETBACKS = 5
POLL_JITTER = 1.1
AFTER_ALL_ROUNDS = 10**6 + 2
KINDS = {wire.Job.EVALUATE: Evaluating, wire.Job.PREPROCESS: Preparing}  # others train
UNLUCKY = frozenset({Refusal.UNIT_TAKEN.code, Refusal.ROUND_CLOSED.code})


class Hopeless(Exception):
    """Task after task went wrong; the message says how the last one did."""


class Worker:
    """Works until the run is over, ``max_tasks`` results were accepted, or a stop."""

    def __init__(self, bench: Bench, identity: Identity, max_tasks: int | None = None) -> None:
        self._bench, self._identity, self._max_tasks = bench, identity, max_tasks
        self._setbacks = 0

    def run(self) -> str:
        """Why it ended: ``run_over``, ``tasks_done`` or ``stopped``.

        Raises:
            TaskRefused, DiskShort, TrainerBroken: it makes no sense to go on; the message says why.
            Final, ProtocolBroken: the coordinator refuses us, or is none.
            Hopeless: ``MAX_SETBACKS`` tasks in a row went wrong.
        """
        try:
            self._introduce()
            while not self._enough():
                self._bench.patience.check_stop()
                self._one_task()
        except coordinator.RunOver:
            self._bench.state.forget_work()
            delivery.ask_fates(self._bench, AFTER_ALL_ROUNDS)
            return "run_over"
        except Stopped:
            self._bench.tell_stop("nothing is under way")
            return "stopped"
        return "tasks_done"

    def _enough(self) -> bool:
        return self._max_tasks is not None and self._bench.totals.accepted >= self._max_tasks

    def _introduce(self) -> None:
        bench = self._bench
        about = bench.patience.call(lambda: coordinator.about(bench.link))
        fmt = check_about(about, bench.limits.jobs) if about else None
        bench.display.show(
            events.Started(
                worker=self._identity.name,
                coordinator=bench.link.base_url,
                run=about.name if about else "",
                format=fmt.id if fmt else "",
                base_model=(fmt.base_ref or "") if fmt else "",
                version=VERSION,
                state_dir=self._identity.state_dir,
            )
        )
        welcome = register(bench, self._identity)
        # Before the first lease: loading takes seconds in which nobody should wait for us.
        if fmt and welcome and set(bench.limits.jobs) != {wire.Job.PREPROCESS}:
            show_ready(bench.display, bench.trainer.load(fmt.id))

    def _one_task(self) -> None:
        work = self._leased()
        if work is None:
            return
        try:
            if work.result is None:
                work = self._do(work)
            self._deliver(work)
        except TaskDropped as dropped:
            self._drop(work, str(dropped))
            if str(dropped) not in (STOPPED, UNWANTED):
                self._setback("too_long", str(dropped))
        except TrainingFailed as failed:
            self._training_failed(work, failed)
        except ProtocolBroken:
            raise
        except Final as fault:  # of a download: the round moved on, or the file is broken
            self._drop(work, fault.detail)
            self._setback(fault.code or "download", fault.detail)

    # Leasing

    def _leased(self) -> Work | None:
        """Work with a task, old or new; None if there is none now."""
        bench, work = self._bench, self._bench.state.load_work()
        if work and work.result and bench.state.result_path(_task(work).lease_id).exists():
            self._show_leased(work, resumed=True)
            return work
        resumed = work is not None and work.task is not None
        if work is None or work.worker != self._identity.name:
            work = self._draw()
        return self._ask(work, resumed)

    def _draw(self) -> Work:
        name = self._identity.name
        work = Work(
            worker=name,
            request_id=wire.LeaseRequest.draw_request_id(),
            sequence=self._bench.state.next_sequence(name) if self._bench.link.token else None,
        )
        self._bench.state.save_work(work)
        return work

    def _ask(self, work: Work, resumed: bool) -> Work | None:
        bench = self._bench
        request = wire.LeaseRequest(
            worker=work.worker,
            request_id=work.request_id,
            sequence=work.sequence,
            encodings=list(ENCODINGS),
            jobs=[job.value for job in bench.limits.jobs],
            holds=held.round if (held := bench.state.load_held()) else None,
        )
        try:
            answer = bench.patience.call(lambda: coordinator.ask(bench.link, request), resets=False)
        except coordinator.RequestUsed:
            bench.state.forget_work()
            return None
        if isinstance(answer, coordinator.NoWork):
            # Jitter, so that workers that heard the same do not all come back at once.
            bench.patience.backoff.wait_at_least(answer.wait_s * random.uniform(1, POLL_JITTER))
            bench.patience.wait("no work right now")
            return None
        check_task(answer, bench.limits, bench.own_data)
        work = work.model_copy(update={"task": answer, "result": None})
        bench.state.save_work(work)
        self._show_leased(work, resumed)
        delivery.ask_fates(bench, answer.round)
        return work

    def _show_leased(self, work: Work, resumed: bool) -> None:
        task = _task(work)
        self._bench.display.show(
            events.Leased(
                lease_id=task.lease_id,
                round=task.round,
                rounds=task.rounds,
                shard=task.training.shard,
                shards=task.shards,
                inner_steps=task.inner_steps,
                resumed=resumed,
                job=task.job.value,
            )
        )

    # Doing and delivering

    def _do(self, work: Work) -> Work:
        task = _task(work)
        fmt = check_task(task, self._bench.limits, self._bench.own_data)
        kind = KINDS.get(task.job, Training)
        with self._bench.beat_for(task) as beat:
            result = kind(self._bench, task, fmt, beat).make()
        work = work.model_copy(update={"result": result})
        self._bench.state.save_work(work)
        return work

    def _deliver(self, work: Work) -> None:
        bench, task = self._bench, _task(work)
        assert work.result is not None
        try:
            with bench.beat_for(task, late=True):
                delivery.deliver(bench, task, work.result)
        except ProtocolBroken:
            raise
        except Final as fault:
            self._refused(task, fault)
            return
        bench.totals.accepted += 1
        self._setbacks = 0
        bench.display.show(events.Verdict(task.lease_id, task.round, True, "", ""))
        bench.state.keep_residual(task.lease_id)
        if task.job not in KINDS:  # whose fate is their acceptance
            delivery.remember(bench, task, work.result.sha256)
        bench.state.forget_work()
        bench.state.tidy_results()

    def _refused(self, task: wire.Task, fault: Final) -> None:
        bench = self._bench
        bench.totals.refused += 1
        if task.job == wire.Job.TRAIN:
            bench.state.clear_residual()
        bench.state.forget_work()
        bench.state.tidy_results()
        verdict = events.Verdict(task.lease_id, task.round, False, fault.code, fault.detail)
        bench.display.show(verdict)
        if fault.code in UNLUCKY:
            bench.patience.backoff.failed()
        else:
            self._setback(fault.code or "refused", fault.detail)

    # What goes wrong

    def _drop(self, work: Work, reason: str) -> None:
        """Let go of a task; after a stop the next start may take its lease up again."""
        resumable = reason == STOPPED
        self._bench.display.show(events.Abandoned(_task(work).lease_id, reason, resumable))
        if not resumable:
            self._bench.state.forget_work()
            self._bench.patience.backoff.failed()

    def _training_failed(self, work: Work, failed: TrainingFailed) -> None:
        if failed.code == "child_died":
            self._bench.display.show(events.Restarted(str(failed)))
            return  # the lease is still ours: _leased asks for it again
        self._drop(work, str(failed))
        self._setback(failed.code, str(failed))

    def _setback(self, code: str, message: str) -> None:
        self._setbacks += 1
        if self._setbacks >= MAX_SETBACKS:
            raise Hopeless(f"{self._setbacks} tasks in a row went wrong, last: {message}")
        self._bench.display.show(events.Error(code, message, fatal=False))
        self._bench.patience.backoff.failed()


def _task(work: Work) -> wire.Task:
    assert work.task is not None
    return work.task
