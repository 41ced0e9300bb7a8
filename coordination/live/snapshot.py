"""Everything that a run's live page shows. A whole snapshot, never a difference: one that gets
lost is healed by the next."""

from dataclasses import asdict
from itertools import accumulate
from math import ceil

from django.db.models import Avg, F, Max

from coordination.clock import now
from coordination.live.chart import MAX_POINTS, loss_chart
from coordination.live.dashboard import Dashboard, Figures, dashboard
from coordination.live.held_out import losses_chart
from coordination.live.status import published
from coordination.live.trends import trends
from coordination.models import Lease, Round, Run, Snapshot
from worker_client.contract.wire import ChunkCounts, FinishedRound, TaskCounts

PAGE_ROUNDS = 20
PAGE_LEASES = 12
PAGE_REFUSALS = 10


def page_snapshot(run: Run, before: int | None = None) -> dict:
    """Everything the live page shows, as JSON values free of language.

    ``version`` belongs to ``run`` as it was loaded, before anything else is read: what changes
    meanwhile has a higher one and follows.
    """
    board = dashboard(run, before, PAGE_ROUNDS)
    seen, done = board.status, published(run).count()
    return {
        "version": run.version,
        "now": now().isoformat(timespec="milliseconds"),
        "phase": board.phase,
        "pause_reason": run.pause_reason,
        "round": seen.round,
        "rounds": run.rounds,
        "published": done,
        "run_progress": _percent(done, run.rounds),
        "deadline": _deadline(run),
        "workers": seen.workers,
        "units": _units(seen.tasks),
        "results": seen.results.model_dump(),
        "preparation": _preparation(seen.preparation),
        "total": board.total,
        "tokens_per_second": float(f"{board.tokens_per_second:.3g}"),
        "checks": _checks(board.checks),
        "refusals": _most_frequent(board.refusals),
        "leases": _leases(run),
        "history": _history(board),
        "held_out": board.held_out,
        "held_out_chart": losses_chart(run),
        "chart": loss_chart(_loss_points(run)),
        "trends": trends(run),
        "snapshot": _newest_snapshot(run),
    }


def _preparation(counts: ChunkCounts | None) -> dict | None:
    if counts is None:
        return None
    left = counts.total - counts.done
    return counts.model_dump() | {"left": left, "done_width": _percent(counts.done, counts.total)}


def _history(board: Dashboard) -> list[dict]:
    """Rows of the page's tables, newest round first."""
    rows = zip(board.status.history, board.rounds, strict=True)
    return [_row(done, figures) for done, figures in reversed(list(rows))]


def _row(done: FinishedRound, figures: Figures) -> dict:
    """A rule that stood in is marked."""
    mark = "!" if done.fallback else ""
    speed = figures.tokens / done.seconds if figures.tokens is not None and done.seconds else None
    return (
        done.model_dump()
        | asdict(figures)
        | {
            "snapshot": done.round + 1,
            "merged_by": f"{done.rule}{mark}" if done.rule else None,
            "speed": None if speed is None else float(f"{speed:.3g}"),
        }
    )


def _checks(counts: dict[str, int]) -> dict | None:
    """How checks ended, with the parts of a bar; None where there were none."""
    whole = sum(counts.values())
    if not whole:
        return None
    starts = accumulate(counts.values(), initial=0)
    at = {f"{name}_at": _percent(start, whole) for name, start in zip(counts, starts, strict=False)}
    return counts | at | {f"{name}_width": _percent(n, whole) for name, n in counts.items()}


def _most_frequent(refusals: dict[str, int]) -> list[dict]:
    """Reasons of refusals, with the length of a bar."""
    most = max(refusals.values(), default=0)
    return [
        {"code": code, "count": count, "width": _percent(count, most)}
        for code, count in list(refusals.items())[:PAGE_REFUSALS]
    ]


def _deadline(run: Run) -> str | None:
    current = run.current_round
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
    rounds = published(run).exclude(loss=None)
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
