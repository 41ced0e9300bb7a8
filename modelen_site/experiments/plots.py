"""A report's plots. matplotlib is imported here alone: nothing else of the site needs it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.utils import translation
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from modelen_site.experiments.labels import labels_of
from modelen_site.experiments.plan import Setting
from modelen_site.experiments.report import LINKS_MBIT, CurvePoint, Report, Row
from modelen_site.experiments.tables import settings_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Of Okabe and Ito (2008): told apart by everybody; dashes and markers tell them apart once more.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES, MARKERS = ("-", "--", "-.", ":"), "osD^vPX*"
INCHES, DPI, BAR_HEIGHT = (8, 5), 150, 0.8
LEGEND_COLUMNS = 3
ENGLISH = "en"

Labels = dict[Setting, str]


@dataclass(frozen=True)
class Plot:
    """``name`` is the file's. ``about`` says what is shown, for whoever does not see it;
    ``rows`` are those that can be drawn."""

    name: str
    title: str | Promise
    about: str | Promise
    rows: Callable[[Report], Sequence[Row]]
    draw: Callable[["Axes", Sequence[Row], Labels], None]

    def file(self, language: str, kind: str = "svg") -> str:
        part = "" if language == ENGLISH else f".{language}"
        return f"{self.name}{part}.{kind}"


@dataclass(frozen=True)
class Drawn:
    """A plot as a file, what it shows, and that with the names of all that is in it."""

    name: str
    file: str
    title: str
    about: str
    alternative: str


def _loss_against_tokens(axes: "Axes", rows: Sequence[Row], labels: Labels) -> None:
    _draw_curves(axes, rows, labels, lambda point: point.tokens)
    axes.set_xlabel(_("tokens of all clients"))


def _loss_against_bytes(axes: "Axes", rows: Sequence[Row], labels: Labels) -> None:
    _draw_curves(axes, rows, labels, lambda point: point.bytes)
    axes.set_xscale("log")
    axes.set_xlabel(_("bytes of all clients, up and down"))


def _loss_against_rounds(axes: "Axes", rows: Sequence[Row], labels: Labels) -> None:
    _draw_curves(axes, rows, labels, lambda point: point.round)
    axes.set_xlabel(_("rounds"))


def _draw_curves(
    axes: "Axes", rows: Sequence[Row], labels: Labels, x: Callable[[CurvePoint], float]
) -> None:
    for number, row in enumerate(rows):
        # What nothing was trained for would squeeze together what matters.
        points = [(x(point), point.loss) for point in row.curve if point.tokens]
        axes.plot(*zip(*points, strict=True), label=labels[row.setting], **_look(number))
    axes.set_ylabel(_("test loss, nats per token"))


def _bytes_a_round(axes: "Axes", rows: Sequence[Row], labels: Labels) -> None:
    """Dots, since bars would have to begin at 0, which this axis does not have."""
    places = range(len(rows))
    up, down = [row.up_a_round for row in rows], [row.down_a_round for row in rows]
    for number, (name, values) in enumerate(((_("up"), up), (_("down"), down))):
        axes.plot(values, places, label=name, **_look(number) | {"linestyle": "", "markersize": 8})
    _name_rows(axes, rows, labels)
    axes.set_xscale("log")
    axes.set_xlabel(_("bytes of a client in a round"))


def _utilisation(axes: "Axes", rows: Sequence[Row], labels: Labels) -> None:
    links = {
        _("%(speed)s Mbit/s") % {"speed": mbit}: [100 * row.utilisation[mbit] for row in rows]
        for mbit in LINKS_MBIT
    }
    _draw_bars(axes, rows, labels, links)
    axes.set_xlim(0, 100)
    axes.set_xlabel(_("share of its time that a client trains, per cent"))


def _draw_bars(
    axes: "Axes", rows: Sequence[Row], labels: Labels, groups: dict[str, list[float]]
) -> None:
    height = BAR_HEIGHT / len(groups)
    for number, (name, values) in enumerate(groups.items()):
        places = [place + (number + 0.5) * height - BAR_HEIGHT / 2 for place in range(len(rows))]
        axes.barh(places, values, height, label=name, color=COLOURS[number])
    _name_rows(axes, rows, labels)


def _name_rows(axes: "Axes", rows: Sequence[Row], labels: Labels) -> None:
    axes.set_yticks(range(len(rows)), [labels[row.setting] for row in rows])
    axes.invert_yaxis()


def _tokens_by_clients(axes: "Axes", rows: Sequence[Row], labels: Labels) -> None:
    _draw_scaling(axes, rows, lambda row: row.tokens_to_target)
    axes.set_ylabel(_("tokens to the loss"))


def _time_by_clients(axes: "Axes", rows: Sequence[Row], labels: Labels) -> None:
    middle = LINKS_MBIT[len(LINKS_MBIT) // 2]
    _draw_scaling(axes, rows, lambda row: row.seconds_to_target[middle] / 60)
    axes.set_ylabel(_("minutes to the loss at %(speed)s Mbit/s") % {"speed": middle})
    axes.set_yscale("log")


def _draw_scaling(axes: "Axes", rows: Sequence[Row], y: Callable[[Row], float | None]) -> None:
    lines: dict[Setting, list[Row]] = {}
    for row in rows:
        lines.setdefault(row.setting.model_copy(update={"clients": 0}), []).append(row)
    labels = labels_of(list(lines))
    for number, (setting, some) in enumerate(lines.items()):
        points = sorted((row.setting.clients, y(row)) for row in some)
        axes.plot(*zip(*points, strict=True), label=labels[setting], **_look(number))
    axes.set_xscale("log", base=2)
    counts = sorted({row.setting.clients for row in rows})
    axes.set_xticks(counts, map(str, counts))
    axes.set_xlabel(_("clients"))


def _look(number: int) -> dict[str, Any]:
    return {
        "color": COLOURS[number % len(COLOURS)],
        "linestyle": DASHES[number // len(COLOURS) % len(DASHES)],
        "marker": MARKERS[number % len(MARKERS)],
        "markersize": 4,
    }


def _every(report: Report) -> Sequence[Row]:
    return report.rows


def _sending(report: Report) -> Sequence[Row]:
    return [row for row in report.rows if row.total_bytes]


def _in_rounds(report: Report) -> Sequence[Row]:
    return [row for row in report.rows if row.setting.is_rounds]


def _arriving(report: Report) -> Sequence[Row]:
    """Those that come down to the loss, if there are different numbers of clients."""
    rows = [row for row in report.rows if row.tokens_to_target is not None]
    return rows if len({row.setting.clients for row in rows}) > 1 else []


PLOTS = (
    Plot(
        "loss-tokens", gettext_lazy("Loss against tokens"),
        gettext_lazy("Curves of the test loss against the tokens that all clients have trained."),
        _every, _loss_against_tokens,
    ),
    Plot(
        "loss-bytes", gettext_lazy("Loss against bytes"),
        gettext_lazy("Curves of the test loss against the bytes that all clients exchanged."),
        _sending, _loss_against_bytes,
    ),
    Plot(
        "loss-rounds", gettext_lazy("Loss against rounds"),
        gettext_lazy("Curves of the test loss against the rounds that were merged."),
        _in_rounds, _loss_against_rounds,
    ),
    Plot(
        "bytes", gettext_lazy("Bytes a round"),
        gettext_lazy("Dots for the bytes that a client sends and fetches in a round."),
        _sending, _bytes_a_round,
    ),
    Plot(
        "utilisation", gettext_lazy("Utilisation"),
        gettext_lazy("Bars of the share of its time that a client trains, on three links."),
        _every, _utilisation,
    ),
    Plot(
        "scaling-tokens", gettext_lazy("Tokens to a loss, by clients"),
        gettext_lazy("Lines of the tokens that it takes to reach the loss, against clients."),
        _arriving, _tokens_by_clients,
    ),
    Plot(
        "scaling-time", gettext_lazy("Time to a loss, by clients"),
        gettext_lazy("Lines of the minutes that it takes to reach the loss, against clients."),
        _arriving, _time_by_clients,
    ),
)  # fmt: skip


def drawn(report: Report, language: str) -> list[Drawn]:
    """The plots that a report has, in a language."""
    with translation.override(language):
        return [
            Drawn(
                plot.name,
                plot.file(language),
                str(plot.title),
                str(plot.about),
                _in_words(plot, report),
            )
            for plot in PLOTS
            if plot.rows(report)
        ]


def _in_words(plot: Plot, report: Report) -> str:
    labels = labels_of(settings_of(report))
    names = "; ".join(labels[row.setting] for row in plot.rows(report))
    return _("%(about)s Shown are: %(names)s.") % {"about": plot.about, "names": names}


def draw_plots(report: Report, folder: Path) -> None:
    """Write each plot as SVG in every language of the site, and as PNG in English.

    Raises:
        ImportError: matplotlib is not installed.
    """
    import matplotlib

    matplotlib.use("Agg")
    # Text stays text, and equal reports give equal bytes.
    matplotlib.rcParams |= {"svg.fonttype": "none", "svg.hashsalt": "modelen"}
    for language, _name in settings.LANGUAGES:
        for plot in PLOTS:
            if plot.rows(report):
                with translation.override(language):
                    _draw(plot, report, folder, language)


def _draw(plot: Plot, report: Report, folder: Path, language: str) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=INCHES, layout="constrained")
    axes = figure.subplots()
    plot.draw(axes, plot.rows(report), labels_of(settings_of(report)))
    axes.grid(alpha=0.3)
    figure.legend(loc="outside lower center", ncols=LEGEND_COLUMNS, fontsize="small")
    about = {"Date": None, "Title": str(plot.title), "Description": _in_words(plot, report)}
    figure.savefig(folder / plot.file(language), metadata=about)
    if language == ENGLISH:
        figure.savefig(folder / plot.file(language, "png"), dpi=DPI)
