"""What the world may see of a run: the protocol's ``/durum``, and everything the live page shows.

Both are whole snapshots, never differences: one that gets lost is healed by the next.
"""

from math import ceil

from django.db.models import Avg, F, Max, QuerySet

from coordination.clock import now
from coordination.live.chart import MAX_POINTS, loss_chart
from coordination.live.counts import active_workers, result_counts, unit_counts
from coordination.models import Lease, Round, Run, Snapshot
from worker_client.contract.wire import FinishedRound, RunState, Status, TaskCounts

HISTORY_ROUNDS = 100
PAGE_ROUNDS = 20
PAGE_LEASES = 12

STATES = {
    Run.State.READY: RunState.READY,
    Run.State.OPEN: RunState.OPEN,
    Run.State.PAUSED: RunState.PAUSED,
    Run.State.FINISHED: RunState.FINISHED,
}


def status(run: Run, before: int | None = None, limit: int = HISTORY_ROUNDS) -> Status:
    """The run's public state, with the last ``limit`` published rounds, oldest first.

    ``before`` gives the rounds before that number instead. ``workers`` counts those that hold a
    live lease or were heard from in the last five minutes; ``tasks`` is about the current round,
    ``results`` about the whole run.
    """
    current = run.current_round
    return Status(
        state=_wire_state(run, current),
        round=current.number if current else 1,
        rounds=run.rounds,
        workers=active_workers(run),
        tasks=unit_counts(current),
        results=result_counts(run),
        history=_history(run, before, limit),
    )


def page_snapshot(run: Run, before: int | None = None) -> dict:
    """Everything the live page shows, as JSON values free of language.

    ``version`` belongs to ``run`` as it was loaded, before anything else is read: what changes
    meanwhile has a higher one and follows.
    """
    seen = status(run, before, PAGE_ROUNDS)
    current = run.current_round
    published = _published(run).count()
    return {
        "version": run.version,
        "now": now().isoformat(timespec="milliseconds"),
        "phase": phase_of(run.state, current.state if current else None, seen.workers),
        "pause_reason": run.pause_reason,
        "round": seen.round,
        "rounds": run.rounds,
        "published": published,
        "run_progress": _percent(published, run.rounds),
        "deadline": _deadline(run, current),
        "workers": seen.workers,
        "units": _units(seen.tasks),
        "results": seen.results.model_dump(),
        "bytes_up": run.bytes_up,
        "bytes_down": run.bytes_down,
        "leases": _leases(run),
        "history": [_row(row) for row in reversed(seen.history)],
        "chart": loss_chart(_loss_points(run)),
        "snapshot": _newest_snapshot(run),
    }


def phase_of(run_state: str, round_state: str | None, workers: int) -> str:
    """One word for what is going on: ready, waiting, training, merging, paused or finished."""
    if run_state != Run.State.OPEN:
        return str(run_state)
    if round_state == Round.State.MERGING:
        return "merging"
    return "training" if workers else "waiting"


def _wire_state(run: Run, current: Round | None) -> RunState:
    merging = current is not None and current.state == Round.State.MERGING
    if run.state == Run.State.OPEN and merging:
        return RunState.MERGING
    return STATES[Run.State(run.state)]


def _published(run: Run) -> QuerySet[Round]:
    return Round.objects.filter(run=run, state=Round.State.PUBLISHED)


def _history(run: Run, before: int | None, limit: int) -> list[FinishedRound]:
    rounds = _published(run).order_by("-number")
    if before is not None:
        rounds = rounds.filter(number__lt=before)
    newest_first = list(rounds[:limit])
    numbers = [round_.number + 1 for round_ in newest_first]
    made = Snapshot.objects.filter(run=run, number__in=numbers)
    digests = dict(made.values_list("number", "sha256"))
    return [_finished(round_, digests[round_.number + 1]) for round_ in reversed(newest_first)]


def _finished(round_: Round, sha256: str) -> FinishedRound:
    return FinishedRound(
        round=round_.number,
        loss=round_.loss,
        accepted=round_.accepted,
        screened=round_.screened,
        seconds=round(round_.seconds or 0.0, 3),
        sha256=sha256,
        rule=round_.rule or None,
        fallback=round_.fallback or None,
        lora_bias=round_.lora_bias,
    )


def _row(done: FinishedRound) -> dict:
    """A finished round as the page's table shows it: a rule that stood in is marked."""
    mark = "!" if done.fallback else ""
    return done.model_dump() | {"merged_by": f"{done.rule}{mark}" if done.rule else None}


def _deadline(run: Run, current: Round | None) -> str | None:
    if run.state != Run.State.OPEN or current is None or current.state != Round.State.OPEN:
        return None
    return current.deadline_at.isoformat(timespec="seconds")


def _units(tasks: TaskCounts) -> dict:
    total = tasks.free + tasks.leased + tasks.done
    return tasks.model_dump() | {
        "total": total,
        "done_width": _percent(tasks.done, total),
        "leased_width": _percent(tasks.leased, total),
    }


def _leases(run: Run) -> list[dict]:
    """The tasks being trained now, longest first: who, which shard, how far."""
    live = Lease.objects.filter(unit__round__run=run, state=Lease.State.LIVE)
    leases = live.select_related("worker", "unit").order_by("granted_at", "pk")[:PAGE_LEASES]
    return [
        {
            "worker": lease.worker.name,
            "shard": lease.unit.shard,
            "job": lease.unit.job,
            "step": lease.step,
            "steps": run.inner_steps,
            "progress": _percent(lease.step, run.inner_steps),
            "loss": lease.loss,
        }
        for lease in leases
    ]


def _loss_points(run: Run) -> list[tuple[int, float]]:
    """Loss by round; of a long run, means over stretches of rounds, so that its size is bounded."""
    rounds = _published(run).exclude(loss=None)
    latest = rounds.aggregate(latest=Max("number"))["latest"] or 0
    stretch = max(1, ceil(latest / MAX_POINTS))
    stretches = rounds.order_by().values(stretch=(F("number") - 1) / stretch)
    means = stretches.annotate(last=Max("number"), mean=Avg("loss")).order_by("last")
    return list(means.values_list("last", "mean"))


def _newest_snapshot(run: Run) -> dict | None:
    newest = Snapshot.objects.filter(run=run).order_by("-number").first()
    if newest is None:
        return None
    return {"number": newest.number, "sha256": newest.sha256, "size": newest.size}


def _percent(part: int, whole: int) -> str:
    return f"{100 * min(part, whole) / whole:.2f}%" if whole else "0%"
