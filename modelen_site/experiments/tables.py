"""A report's sentences and tables, in the language that is on: for Markdown and for the page."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.utils.formats import number_format
from django.utils.translation import gettext as _

from modelen_site.experiments.labels import labels_of
from modelen_site.experiments.plan import Setting
from modelen_site.experiments.report import LINKS_MBIT, Report, Row, Verdict

MISSING = "–"
Labels = dict[Setting, str]


@dataclass(frozen=True)
class Table:
    """``rows`` have a cell for each of ``heads``; the first is the row's own heading. ``words``
    counts the columns after it that are no numbers."""

    id: str
    title: str
    note: str
    heads: tuple[str, ...]
    rows: list[tuple[str, ...]]
    words: int = 0


def how_it_ran(report: Report) -> str:
    if report.how == "real":
        return _("through a real server and real worker processes")
    return _(
        "simulated in one process, on files, by the platform's own code for training, encodings "
        "and merging; no network took part"
    )


def conditions(report: Report) -> Iterator[tuple[str, str]]:
    """What was run and how: a heading and a sentence each."""
    yield _("How"), how_it_ran(report)
    yield _("Model"), _("%(format)s, %(count)s parameters") % {
        "format": report.format, "count": _whole(report.parameters),
    }  # fmt: skip
    yield _("Each arm"), _(
        "%(tokens)s tokens in sequences of %(length)s; a client's step takes %(batch)s of them"
    ) % {
        "tokens": _whole(report.tokens), "length": report.seq_len, "batch": report.batch_size,
    }  # fmt: skip
    yield _("Recipe"), report.recipe
    yield (
        _("Text"),
        _("%(source)s: %(languages)s; %(tokens)s tokens to train on")
        % {
            "source": report.text_source,
            "languages": ", ".join(report.languages),
            "tokens": _whole(report.train_tokens),
        },
    )
    if report.text_licence:
        yield _("Licence of the text"), report.text_licence
    yield _("Seeds"), ", ".join(map(str, report.seeds))
    yield _("Learning rates"), _(
        "%(rates)s, of which each setting takes the best on validation text with seed %(seed)s"
    ) % {
        "rates": ", ".join(f"{lr:g}" for lr in report.learning_rates), "seed": report.seeds[0],
    }  # fmt: skip
    yield (
        _("Device"),
        _("%(device)s, %(dtype)s; a client's step takes %(time)s ms")
        % {
            "device": report.device,
            "dtype": report.dtype,
            "time": _fixed(1e3 * report.step_seconds, 1),
        },
    )
    if report.cells_done < report.cells:
        yield _("Not finished"), _("%(done)s of %(all)s cells are done") % {
            "done": report.cells_done, "all": report.cells,
        }  # fmt: skip
    labels = labels_of(settings_of(report))
    for failure in report.failures:
        name = f"{labels.get(failure.setting, failure.setting.arm)}, lr {failure.lr:g}"
        yield _("Diverged"), f"{name}: {failure.why}"


def settings_of(report: Report) -> list[Setting]:
    """All that the report names."""
    named = [row.setting for row in report.rows]
    return list(dict.fromkeys([*named, *(f.setting for f in report.failures)]))


def tables(report: Report) -> list[Table]:
    labels = labels_of(settings_of(report))
    made = [_losses(report, labels), _bytes(report, labels), _utilisation(report, labels)]
    if report.bars:
        made.insert(0, _bars(report, labels))
    if report.target_loss is not None:
        made.append(_scaling(report, labels))
    return made


def curves(report: Report) -> Table:
    """Every point of the plots of the loss."""
    labels = labels_of(settings_of(report))
    return Table(
        "curves",
        _("Points of the curves"),
        _("Means over the seeds; bytes of all clients, both ways."),
        (_("Setting"), _("Tokens"), _("Rounds"), _("Bytes"), _("Loss")),
        [
            (
                labels[row.setting],
                _whole(point.tokens),
                _whole(point.round) if row.setting.is_rounds else MISSING,
                _whole(point.bytes),
                _fixed(point.loss, 4),
            )
            for row in report.rows
            for point in row.curve
        ],
    )


def _bars(report: Report, labels: Labels) -> Table:
    return Table(
        "bars",
        _("Bars"),
        " ".join(f"{bar.title}: {bar.why}" for bar in report.bars if bar.why),
        (_("Bar"), _("Of"), _("Against"), _("Wanted"), _("Measured"), _("Verdict")),
        [(bar.title, *_bar(bar, labels)) for bar in report.bars],
        words=5,
    )


def _bar(bar: Verdict, labels: Labels) -> tuple[str, ...]:
    pair = (labels.get(bar.of, bar.of.arm), labels.get(bar.against, bar.against.arm))
    is_loss = bar.unit == "percent"
    limit = {"number": number_format(f"{bar.bar:g}")}
    wanted = _("loss at most %(number)s %% above") if is_loss else _("%(number)s times fewer bytes")
    if bar.measured is None:
        return (*pair, wanted % limit, MISSING, _("not measured"))
    number = _fixed(bar.measured, 2 if is_loss else 1)
    measured = _("%(number)s %%") if is_loss else _("%(number)s times")
    return (*pair, wanted % limit, measured % {"number": number}, verdict(bar))


def verdict(bar: Verdict) -> str:
    """Whether it is met, and if not by how much it is missed."""
    if bar.measured is None:
        return _("not measured")
    if bar.met:
        return _("met")
    by = abs(bar.measured - bar.bar)
    if bar.unit == "percent":
        return _("missed by %(number)s points") % {"number": _fixed(by, 2)}
    return _("missed by %(number)s times") % {"number": _fixed(by, 1)}


def _losses(report: Report, labels: Labels) -> Table:
    heads = (
        _("Setting"), _("Rounds × steps"), _("Learning rate"), _("Seeds"), _("Loss"), _("Spread"),
        *report.languages,
    )  # fmt: skip
    return Table(
        "losses",
        _("Loss on test text"),
        _(
            "In nats per token, the mean over the seeds and their standard deviation, then of each "
            "language. A learning rate with * is the least or largest on offer: a better one may "
            "lie outside. One with † was not chosen: its arm has no other."
        ),
        heads,
        [
            (
                labels[row.setting],
                f"{row.rounds} × {row.steps}",
                f"{row.lr:g}{'*' if row.at_edge else '†' if row.was_given else ''}",
                str(len(row.seeds)),
                _fixed(row.loss, 4),
                MISSING if row.spread is None else _fixed(row.spread, 4),
                *(_fixed(row.by_language[name], 3) for name in report.languages),
            )
            for row in report.rows
        ],
    )


def _bytes(report: Report, labels: Labels) -> Table:
    return Table(
        "bytes",
        _("Bytes"),
        _(
            "Of one client in one round (of a step, where gradients are exchanged), then of all "
            "clients over the whole run, both ways. What a client fetches once is apart: its "
            "shard and the first snapshot. On the wire are all bodies of requests and answers. "
            "Gradients are not sent here; theirs are arithmetic, 4 bytes a parameter."
        ),
        (
            _("Setting"), _("Up a round"), _("Down a round"), _("Whole run"), _("Shard"),
            _("First snapshot"), _("On the wire"),
        ),
        [
            (
                labels[row.setting],
                *map(_whole, (row.up_a_round, row.down_a_round, row.total_bytes)),
                *map(_whole, (row.shard_bytes, row.first_bytes, row.wire_bytes)),
            )
            for row in report.rows
        ],
    )  # fmt: skip


def _utilisation(report: Report, labels: Labels) -> Table:
    return Table(
        "utilisation",
        _("Utilisation"),
        _(
            "The share of its time that a client trains if it waits while results and updates "
            "travel, by link: arithmetic from the step's time and the bytes above."
        ),
        (_("Setting"), *(_("%(speed)s Mbit/s") % {"speed": mbit} for mbit in LINKS_MBIT)),
        [
            (
                labels[row.setting],
                *(
                    _("%(number)s %%") % {"number": _fixed(100 * row.utilisation[mbit], 1)}
                    for mbit in LINKS_MBIT
                ),
            )
            for row in report.rows
        ],
    )


def _scaling(report: Report, labels: Labels) -> Table:
    assert report.target_loss is not None
    return Table(
        "scaling",
        _("To a loss of %(loss)s") % {"loss": _fixed(report.target_loss, 3)},
        _(
            "Tokens of all clients, and minutes of wall time by link, until the test loss first "
            "comes down so far: arithmetic from the step's time and the bytes, on straight lines "
            "between the points of the curve."
        ),
        (
            _("Setting"), _("Clients"), _("Tokens"),
            *(_("Minutes at %(speed)s Mbit/s") % {"speed": mbit} for mbit in LINKS_MBIT),
        ),
        [
            (
                labels[row.setting],
                str(row.setting.clients),
                _whole(row.tokens_to_target),
                *(_minutes(row, mbit) for mbit in LINKS_MBIT),
            )
            for row in report.rows
        ],
    )  # fmt: skip


def _minutes(row: Row, mbit: int) -> str:
    seconds = row.seconds_to_target.get(mbit)
    return MISSING if seconds is None else _fixed(seconds / 60, 1)


def _percent(share: float) -> str:
    return _("%(number)s %%") % {"number": _fixed(100 * share, 1)}


def _whole(value: float | None) -> str:
    return MISSING if value is None else number_format(f"{value:.0f}", 0, force_grouping=True)


def _fixed(value: float, digits: int) -> str:
    # number_format cuts digits off where people round.
    return number_format(f"{value:.{digits}f}", digits)
