"""A report as Markdown."""

from collections.abc import Iterator, Sequence

from modelen_site.experiments.findings import LINKS_MBIT, Report, Row, Verdict

HOW = {
    "real": "through a real server and real worker processes",
    "simulation": (
        "SIMULATED in one process, on files, by the platform's own code for training, encodings "
        "and merging; what a network costs is arithmetic"
    ),
}
MISSING = "–"


def markdown(report: Report, plots: Sequence[tuple[str, str]]) -> str:
    """``plots``: file name and caption of each."""
    return "\n".join([*_lines(report, plots), ""])


def _lines(report: Report, plots: Sequence[tuple[str, str]]) -> Iterator[str]:
    yield f"# {report.title}"
    if report.description:
        yield from (report.description.strip(), "")
    yield from _conditions(report)
    if report.bars:
        yield from ("", "## Bars", "", *_table(BAR_HEADS, map(_bar, report.bars)))
        yield from ("", *(f"- {bar.title}: {bar.why}" for bar in report.bars if bar.why))
    yield from ("", "## Loss", "", *_table(LOSS_HEADS, map(_loss, report.rows)))
    yield from ("", "## Bytes", "", *_table(BYTE_HEADS, map(_bytes, report.rows)))
    yield from ("", "## Utilisation", "", UTILISATION)
    yield from ("", *_table(USE_HEADS, map(_use, report.rows)))
    if report.target_loss is not None:
        yield from ("", f"## To a loss of {report.target_loss:.3f}", "", TO_TARGET)
        yield from ("", *_table(TARGET_HEADS, map(_target, report.rows)))
    for file, caption in plots:
        yield from ("", f"![{caption}]({file})")


def _conditions(report: Report) -> Iterator[str]:
    yield f"- Run {HOW[report.how]}, by `{report.command}`, version {report.version}."
    yield (
        f"- `{report.format}`, {report.parameters:,} parameters; {report.tokens:,} tokens an arm "
        f"in sequences of {report.seq_len}, {report.batch_size} of them a client's step."
    )
    yield (
        f"- Text: {report.text_source} ({', '.join(report.languages)}), {report.train_tokens:,} "
        f"tokens to train on{f'; {report.text_licence}' if report.text_licence else ''}."
    )
    rates = ", ".join(f"{lr:g}" for lr in report.learning_rates)
    yield (
        f"- Learning rate: of {rates} the best on validation text with seed {report.seeds[0]}. "
        f"Seeds: {', '.join(map(str, report.seeds))}. Losses are of test text, in nats per token."
    )
    yield (
        f"- Device: {report.device}, {report.dtype}; a client's step takes "
        f"{report.step_seconds * 1e3:.1f} ms."
    )
    if report.cells_done < report.cells:
        yield f"- **Not finished: {report.cells_done} of {report.cells} cells are done.**"
    for failure in report.failures:
        yield f"- Diverged: {failure}"


BAR_HEADS = ("bar", "of", "against", "wanted", "measured", "")


def _bar(bar: Verdict) -> list[str]:
    is_loss = bar.unit == "percent"
    wanted = f"at most {bar.bar:g} % above" if is_loss else f"at least {bar.bar:g} times fewer"
    if bar.measured is None:
        return [bar.title, bar.of, bar.against, wanted, MISSING, "not measured"]
    measured = f"{bar.measured:+.2f} %" if is_loss else f"{bar.measured:.1f} times"
    return [bar.title, bar.of, bar.against, wanted, measured, verdict(bar)]


def verdict(bar: Verdict) -> str:
    assert bar.measured is not None
    if bar.met:
        return "met"
    if bar.unit == "percent":
        return f"**missed** by {bar.measured - bar.bar:.2f} points"
    return f"**missed** by {bar.bar - bar.measured:.1f} times"


LOSS_HEADS = ("setting", "rounds × steps", "learning rate", "seeds", "loss", "spread", "languages")


def _loss(row: Row) -> list[str]:
    return [
        row.label,
        f"{row.rounds} × {row.steps}",
        f"{row.lr:g}{' (edge of the grid)' if row.at_edge else ''}",
        str(len(row.seeds)),
        f"{row.loss:.4f}",
        MISSING if row.spread is None else f"{row.spread:.4f}",
        ", ".join(f"{name} {loss:.3f}" for name, loss in row.by_language.items()),
    ]


BYTE_HEADS = (
    "setting", "up a round", "down a round", "all clients, whole run", "shard", "first snapshot",
    "on the wire",
)  # fmt: skip


def _bytes(row: Row) -> list[str]:
    sizes = (row.up_a_round, row.down_a_round, row.total_bytes, row.shard_bytes, row.first_bytes)
    wire = MISSING if row.wire_bytes is None else _count(row.wire_bytes)
    return [row.label, *map(_count, sizes), wire]


def _count(size: float) -> str:
    return f"{round(size):,}"


UTILISATION = (
    "The share of its time that a client trains if it waits while results and updates travel, by "
    "link (Mbit/s): arithmetic from the step's time and the bytes above."
)
USE_HEADS = ("setting", *map(str, LINKS_MBIT))


def _use(row: Row) -> list[str]:
    return [row.label, *(f"{100 * row.utilisation[mbit]:.1f} %" for mbit in LINKS_MBIT)]


TO_TARGET = (
    "Tokens of all clients, and hours of wall time by link (Mbit/s), until the test loss first "
    "comes down so far: arithmetic from step time and bytes, on straight lines between points."
)
TARGET_HEADS = ("setting", "clients", "tokens", *(f"hours at {mbit}" for mbit in LINKS_MBIT))


def _target(row: Row) -> list[str]:
    head = [row.label, str(row.setting.clients)]
    if row.tokens_to_target is None:
        return [*head, *[MISSING] * (1 + len(LINKS_MBIT))]
    hours = (f"{row.seconds_to_target[mbit] / 3600:.3f}" for mbit in LINKS_MBIT)
    return [*head, _count(row.tokens_to_target), *hours]


def _table(heads: Sequence[str], rows: "Iterator[list[str]] | map[list[str]]") -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield "|" + "---|" * len(heads)
    for row in rows:
        yield f"| {' | '.join(row)} |"
