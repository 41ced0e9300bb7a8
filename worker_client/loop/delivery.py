"""Bringing a finished result to its verdict, and learning what became of it later."""

from worker_client.client.coordinator import ask_fate, tell_progress
from worker_client.client.faults import Final, Passing
from worker_client.client.upload import Parcel, Upload
from worker_client.contract import wire
from worker_client.display import events
from worker_client.loop.task import Bench
from worker_client.state.records import Delivered, FinishedResult


def commit(bench: Bench, task: wire.Task, result: FinishedResult) -> None:
    """Tell the result's digest before the upload, where the coordinator takes progress.

    Its ``devam`` is not looked at: after a lost answer the result may have been taken already,
    and then the upload's first call brings the verdict.
    """
    progress = wire.Progress(
        lease_key=task.lease_key, step=task.inner_steps, loss=result.loss, digest=result.sha256
    )
    try:
        bench.patience.call(
            lambda: tell_progress(bench.link, task.lease_id, progress), resets=False
        )
    except Final:
        return


def deliver(bench: Bench, task: wire.Task, result: FinishedResult) -> None:
    """Upload until the result is accepted.

    Raises:
        Final: refused for good.
        ProtocolBroken, Stopped: no verdict; work and file stay for the next start.
    """
    path = bench.state.result_path(task.lease_id)
    parcel = Parcel(task.lease_id, task.lease_key, path, result.sha256, result.size)
    commit(bench, task, result)

    def report(done: int, total: int) -> None:
        if bench.stopping:
            bench.tell_stop("finishing the upload first")
        bench.display.transfer("upload", done, total)

    Upload(bench.link, bench.patience, report).deliver(parcel)
    up = bench.totals.traffic.up
    bench.display.show(events.Uploaded(task.lease_id, task.round, result.size, up))


def remember(bench: Bench, task: wire.Task, sha256: str) -> None:
    """Keep an accepted result until its fate is known."""
    new = Delivered(
        lease_id=task.lease_id, lease_key=task.lease_key, round=task.round, sha256=sha256
    )
    others = [d for d in bench.state.load_delivered() if d.lease_id != task.lease_id]
    bench.state.save_delivered([*others, new])


def ask_fates(bench: Bench, before_round: int) -> None:
    """Ask once for each delivered result of a round before ``before_round``; tell what is known."""
    delivered = bench.state.load_delivered()
    waiting = [d for d in delivered if d.round >= before_round or _fate_open(bench, d)]
    if waiting != delivered:
        bench.state.save_delivered(waiting)


def _fate_open(bench: Bench, result: Delivered) -> bool:
    try:
        answer = ask_fate(bench.link, result.lease_id, result.lease_key)
        fate, code = answer.fate.value, answer.code or ""
    except Passing:
        return True
    except Final as fault:
        fate, code = "silindi", fault.code
    if fate == wire.ResultFate.WAITING:
        return True
    if fate not in (wire.ResultFate.MERGED, wire.ResultFate.USED):
        bench.state.clear_residual()
    bench.display.show(events.Fate(result.lease_id, result.round, fate, code))
    return False
