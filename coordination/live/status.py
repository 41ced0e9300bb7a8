"""The protocol's ``/durum``: what the world may see of a run."""

from django.db.models import QuerySet

from coordination.live.counts import active_workers, result_counts, unit_counts
from coordination.live.held_out import losses_beside
from coordination.models import Round, Run, Snapshot
from coordination.preparing.counts import chunk_counts
from worker_client.contract.wire import FinishedRound, RunState, Status

HISTORY_ROUNDS = 100

# What may be going on; see ``phase_of``.
PHASES = ("ready", "waiting", "training", "merging", "paused", "finished")

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
    current, history = run.current_round, _history(run, before, limit)
    return Status(
        state=_wire_state(run, current),
        round=current.number if current else 1,
        rounds=run.rounds,
        workers=active_workers(run),
        tasks=unit_counts(current),
        results=result_counts(run),
        history=history,
        held_out=losses_beside(run, history),
        preparation=chunk_counts(run),
    )


def phase_of(run_state: str, round_state: str | None, workers: int) -> str:
    """One word for what is going on, of ``PHASES``."""
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


def published(run: Run) -> QuerySet[Round]:
    return Round.objects.filter(run=run, state=Round.State.PUBLISHED)


def _history(run: Run, before: int | None, limit: int) -> list[FinishedRound]:
    rounds = published(run).order_by("-number")
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
