"""A report's plots. matplotlib is imported here alone: nothing else of the site needs it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from modelen_site.experiments.findings import CurvePoint, Report

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Of Okabe and Ito: told apart by everybody; styles tell them apart once more.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
STYLES = ("-", "--", "-.", ":")
MARKERS = "osD^vPX*"


@dataclass(frozen=True)
class Plot:
    """``name`` is the file's, without its ending."""

    name: str
    title: str
    draw: Callable[["Axes", Report], None]


def _loss_over_tokens(axes: "Axes", report: Report) -> None:
    _curves(axes, report, lambda point: point.tokens)
    axes.set_xlabel("tokens")


PLOTS = (Plot("loss-tokens", "Loss against tokens", _loss_over_tokens),)


def _curves(axes: "Axes", report: Report, x: Callable[[CurvePoint], float]) -> None:
    for number, row in enumerate(report.rows):
        points = [(x(point), point.loss) for point in row.curve]
        axes.plot(*zip(*points, strict=True), label=row.label, **_look(number))
    axes.set_ylabel("test loss, nats per token")


def _look(number: int) -> dict:
    return {
        "color": COLOURS[number % len(COLOURS)],
        "linestyle": STYLES[number // len(COLOURS) % len(STYLES)],
        "marker": MARKERS[number % len(MARKERS)],
        "markersize": 4,
    }


def draw_plots(report: Report, folder: Path) -> Iterator[tuple[str, str]]:
    """Write each plot as SVG and PNG; the SVG's name and the title of each.

    Raises:
        ImportError: matplotlib is not installed.
    """
    import matplotlib

    matplotlib.use("Agg")
    # Text stays text, and equal reports give equal bytes.
    matplotlib.rcParams |= {"svg.fonttype": "none", "svg.hashsalt": "modelen"}
    from matplotlib.figure import Figure

    for plot in PLOTS:
        figure = Figure(figsize=(8, 5), layout="constrained")
        axes = figure.subplots()
        plot.draw(axes, report)
        axes.set_title(plot.title)
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small")
        figure.savefig(folder / f"{plot.name}.svg", metadata={"Date": None, "Title": plot.title})
        figure.savefig(folder / f"{plot.name}.png", dpi=150)
        yield f"{plot.name}.svg", plot.title
