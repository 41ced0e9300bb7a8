"""What a grid's outcomes say: losses over seeds, bytes, scaling, utilisation, bars."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from modelen_site.experiments.cells import How, Outcome, Point
from modelen_site.experiments.grid import Grid
from modelen_site.experiments.plan import Bar, Plan, Setting
from modelen_site.experiments.report import (
    LINKS_MBIT,
    CurvePoint,
    Failure,
    Report,
    Row,
    Verdict,
)
from worker_client.contract.formats import load_format


@dataclass(frozen=True)
class Facts:
    """What a report says beside its grid's outcomes."""

    how: How
    command: str
    version: str
    train_tokens: int
    step_seconds: float


def find(grid: Grid, facts: Facts) -> Report:
    """What is known so far."""
    plan = grid.plan
    outcomes = {setting: _outcomes(grid, setting) for setting in plan.settings}
    rows = [_row(plan, found, facts) for found in outcomes.values() if found]
    target = plan.target_loss or max((row.loss for row in rows), default=None)
    if target is not None:
        rows = [_with_target(plan, row, target, facts) for row in rows]
    every = [outcome for found in outcomes.values() for outcome in found]
    tried = [outcome for cell in grid.choosing(plan.settings) if (outcome := grid.outcome(cell))]
    return Report(
        **plan.model_dump(include={"name", "title", "description", "format", "recipe"}),
        **plan.model_dump(include={"seq_len", "batch_size", "tokens", "seeds", "learning_rates"}),
        how=facts.how,
        command=facts.command,
        version=facts.version,
        parameters=load_format(plan.format).parameters,
        languages=list(plan.text.languages),
        text_source=plan.text.source,
        text_licence=plan.text.licence,
        train_tokens=facts.train_tokens,
        device="; ".join(sorted({outcome.device for outcome in every})),
        dtype="; ".join(sorted({outcome.dtype for outcome in every})),
        step_seconds=facts.step_seconds,
        target_loss=target,
        cells=plan.cells,
        cells_done=len(tried) + sum(len(found) - 1 for found in outcomes.values() if found),
        failures=[_failure(outcome) for outcome in tried if outcome.failure],
        rows=rows,
        bars=[_judge(plan, bar, rows) for bar in plan.bars],
    )


def _failure(outcome: Outcome) -> Failure:
    return Failure(setting=outcome.cell.setting, lr=outcome.cell.lr, why=outcome.failure)


def _outcomes(grid: Grid, setting: Setting) -> list[Outcome]:
    """With the chosen learning rate, of each seed that is done."""
    cells = grid.choosing([setting]) + grid.repeating([setting])
    lr = grid.chosen(setting)
    found = [grid.outcome(cell) for cell in cells if cell.lr == lr]
    return [outcome for outcome in found if outcome and outcome.validation is not None]


def _row(plan: Plan, outcomes: list[Outcome], facts: Facts) -> Row:
    setting, lr = outcomes[0].cell.setting, outcomes[0].cell.lr
    work, losses = plan.work(setting), [outcome.last.loss for outcome in outcomes]
    rates = plan.rates_of(setting)
    last = [outcome.last for outcome in outcomes]
    rounds = work.rounds if setting.is_rounds else work.steps
    share = rounds * setting.clients * len(outcomes)
    up, down = (sum(getattr(point, way) for point in last) / share for way in ("up", "down"))
    wires = [o.wire_up + o.wire_down for o in outcomes if o.wire_up is not None and o.wire_down]
    return Row(
        setting=setting,
        lr=lr,
        at_edge=len(rates) > 1 and lr in (min(rates), max(rates)),
        was_given=len(rates) == 1 < len(plan.learning_rates),
        seeds=[outcome.cell.seed for outcome in outcomes],
        losses=losses,
        by_language={
            name: fmean(point.by_language[name] for point in last) for name in last[0].by_language
        },
        loss=fmean(losses),
        spread=stdev(losses) if len(losses) > 1 else None,
        rounds=work.rounds,
        steps=work.steps,
        tokens=last[0].tokens,
        up_a_round=up,
        down_a_round=down,
        total_bytes=fmean(point.up + point.down for point in last),
        shard_bytes=fmean(outcome.shard_bytes for outcome in outcomes) / setting.clients,
        first_bytes=fmean(outcome.first_bytes for outcome in outcomes) / work.workers,
        wire_bytes=fmean(wires) if wires else None,
        screened=sum(outcome.screened for outcome in outcomes),
        digests=[outcome.digest for outcome in outcomes],
        curve=_curve([outcome.points for outcome in outcomes]),
        utilisation={
            mbit: utilisation(_inner(setting) * facts.step_seconds, up + down, mbit)
            for mbit in LINKS_MBIT
        },
    )


def _curve(runs: Sequence[Sequence[Point]]) -> list[CurvePoint]:
    return [
        CurvePoint(
            tokens=points[0].tokens,
            round=points[0].round,
            bytes=fmean(point.up + point.down for point in points),
            loss=fmean(point.loss for point in points),
        )
        for points in zip(*runs, strict=True)
    ]


def _inner(setting: Setting) -> int:
    """A client's steps between two exchanges."""
    return setting.inner_steps if setting.is_rounds else 1


def transfer_seconds(size: float, mbit: float) -> float:
    return 8 * size / (mbit * 1e6)


def utilisation(training: float, size: float, mbit: float) -> float:
    """The share of its time that a client trains, if it waits while ``size`` bytes travel."""
    return training / (training + transfer_seconds(size, mbit))


def _with_target(plan: Plan, row: Row, target: float, facts: Facts) -> Row:
    tokens = tokens_to(row.curve, target)
    if tokens is None:
        return row
    setting = row.setting
    steps = tokens / (plan.seq_len * plan.batch_size * setting.clients)
    exchanges = steps / _inner(setting)
    seconds = {
        mbit: steps * facts.step_seconds
        + exchanges * transfer_seconds(row.up_a_round + row.down_a_round, mbit)
        for mbit in LINKS_MBIT
    }
    return row.model_copy(update={"tokens_to_target": tokens, "seconds_to_target": seconds})


def tokens_to(curve: Sequence[CurvePoint], target: float) -> float | None:
    """After how many tokens a curve first comes down to ``target``, on straight lines between its
    points; None if it never does."""
    for before, after in zip(curve, curve[1:], strict=False):
        if after.loss <= target:
            share = (before.loss - target) / (before.loss - after.loss)
            return before.tokens + share * (after.tokens - before.tokens)
    return None


def _judge(plan: Plan, bar: Bar, rows: Sequence[Row]) -> Verdict:
    of, against = plan.find(bar.of), plan.find(bar.against)
    known = {row.setting: row for row in rows}
    wants_loss = bar.at_most_percent is not None
    limit = bar.at_most_percent if wants_loss else bar.at_least_times
    assert limit is not None  # a bar has one of the two
    measured = None
    if of in known and against in known:
        one, other = known[of], known[against]
        if wants_loss:
            measured = 100 * (one.loss / other.loss - 1)
        else:
            measured = other.total_bytes / one.total_bytes
    met = None if measured is None else measured <= limit if wants_loss else measured >= limit
    return Verdict(
        title=bar.title,
        of=of,
        against=against,
        unit="percent" if wants_loss else "times",
        bar=limit,
        measured=measured,
        met=met,
        why=bar.why,
    )
