"""What a grid's outcomes say: losses over seeds, bytes, scaling, utilisation, bars."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from pydantic import BaseModel

from modelen_site.experiments.cells import How, Outcome, Point
from modelen_site.experiments.grid import Grid
from modelen_site.experiments.plan import Bar, Plan, Setting
from worker_client.contract.formats import load_format

LINKS_MBIT = (10, 50, 1000)


class CurvePoint(BaseModel):
    """A point of a curve, over seeds: nats per token; bytes of all clients, both ways."""

    tokens: int
    round: int
    bytes: float
    loss: float


class Row(BaseModel):
    """What became of one setting, over its seeds.

    ``at_edge``: the learning rate is the least or the largest that was offered, so that a better
    one may lie outside. Bytes are of one client, except ``total_bytes``: all clients over the
    whole run, both ways, without shards and first snapshots. ``utilisation``: the share of its
    time that a client trains, on a link of so many Mbit/s. ``seconds_to_target``: the same links.
    """

    setting: Setting
    label: str
    lr: float
    at_edge: bool
    seeds: list[int]
    losses: list[float]
    by_language: dict[str, float]
    loss: float
    spread: float | None
    rounds: int
    steps: int
    tokens: int
    up_a_round: float
    down_a_round: float
    total_bytes: float
    shard_bytes: float
    first_bytes: float
    wire_bytes: float | None
    screened: int
    digests: list[str]
    curve: list[CurvePoint]
    utilisation: dict[int, float]
    tokens_to_target: float | None = None
    seconds_to_target: dict[int, float] = {}


class Verdict(BaseModel):
    """``measured`` and ``bar`` in per cent above, or times fewer bytes. ``met`` is None while
    there is nothing to judge by."""

    title: str
    of: str
    against: str
    unit: str
    bar: float
    measured: float | None
    met: bool | None
    why: str


class Report(BaseModel):
    """Everything that pages, tables and plots are made from."""

    name: str
    title: str
    description: str
    how: How
    command: str
    version: str
    format: str
    parameters: int
    seq_len: int
    batch_size: int
    tokens: int
    seeds: list[int]
    learning_rates: list[float]
    languages: list[str]
    text_source: str
    text_licence: str
    train_tokens: int
    device: str
    dtype: str
    step_seconds: float
    target_loss: float | None
    cells: int
    cells_done: int
    failures: list[str]
    rows: list[Row]
    bars: list[Verdict]


@dataclass(frozen=True)
class Facts:
    """What a report says beside its grid's outcomes."""

    how: How
    command: str
    version: str
    train_tokens: int
    step_seconds: float


def labels_of(settings: Sequence[Setting]) -> dict[Setting, str]:
    """A name for each: its arm, and whatever else tells it from that arm's others."""
    return {setting: _label(setting, settings) for setting in settings}


def _label(setting: Setting, settings: Sequence[Setting]) -> str:
    same = [other for other in settings if other.arm == setting.arm]
    parts = {
        "clients": str(setting.clients),
        "inner_steps": f"H={setting.inner_steps}",
        "encodings": setting.encodings,
        "division": setting.division,
    }
    varied = [
        text for name, text in parts.items() if len({getattr(other, name) for other in same}) > 1
    ]
    return " ".join([setting.arm, *varied])


def find(grid: Grid, facts: Facts) -> Report:
    """What is known so far."""
    plan = grid.plan
    labels = labels_of(plan.settings)
    outcomes = {setting: _outcomes(grid, setting) for setting in plan.settings}
    rows = [
        _row(plan, labels[setting], found, facts) for setting, found in outcomes.items() if found
    ]
    target = plan.target_loss or max((row.loss for row in rows), default=None)
    if target is not None:
        rows = [_with_target(plan, row, target, facts) for row in rows]
    every = [outcome for found in outcomes.values() for outcome in found]
    tried = [outcome for cell in grid.choosing() if (outcome := grid.outcome(cell))]
    return Report(
        **plan.model_dump(include={"name", "title", "description", "format", "seq_len"}),
        **plan.model_dump(include={"batch_size", "tokens", "seeds", "learning_rates"}),
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
        cells=len(plan.settings) * (len(plan.learning_rates) + len(plan.seeds) - 1),
        cells_done=len(tried) + sum(len(found) - 1 for found in outcomes.values() if found),
        failures=[_failure(labels, outcome) for outcome in tried if outcome.failure],
        rows=rows,
        bars=[_judge(plan, bar, rows, labels) for bar in plan.bars],
    )


def _failure(labels: dict[Setting, str], outcome: Outcome) -> str:
    return f"{labels[outcome.cell.setting]}, lr {outcome.cell.lr:g}: {outcome.failure}"


def _outcomes(grid: Grid, setting: Setting) -> list[Outcome]:
    """With the chosen learning rate, of each seed that is done."""
    cells = [cell for cell in (*grid.choosing(), *grid.repeating()) if cell.setting == setting]
    lr = grid.chosen(setting)
    found = [grid.outcome(cell) for cell in cells if cell.lr == lr]
    return [outcome for outcome in found if outcome and outcome.validation is not None]


def _row(plan: Plan, label: str, outcomes: list[Outcome], facts: Facts) -> Row:
    setting, lr = outcomes[0].cell.setting, outcomes[0].cell.lr
    work, losses = plan.work(setting), [outcome.last.loss for outcome in outcomes]
    last = [outcome.last for outcome in outcomes]
    rounds = work.rounds if setting.is_rounds else work.steps
    share = rounds * setting.clients * len(outcomes)
    up, down = (sum(getattr(point, way) for point in last) / share for way in ("up", "down"))
    wires = [o.wire_up + o.wire_down for o in outcomes if o.wire_up is not None and o.wire_down]
    return Row(
        setting=setting,
        label=label,
        lr=lr,
        at_edge=len(plan.learning_rates) > 1
        and lr in (min(plan.learning_rates), max(plan.learning_rates)),
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


def _judge(plan: Plan, bar: Bar, rows: Sequence[Row], labels: dict[Setting, str]) -> Verdict:
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
        of=labels[of],
        against=labels[against],
        unit="percent" if wants_loss else "times",
        bar=limit,
        measured=measured,
        met=met,
        why=bar.why,
    )
