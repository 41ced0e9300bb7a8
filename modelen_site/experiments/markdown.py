"""A report as Markdown, in English."""

from collections.abc import Iterator, Sequence

from django.utils import translation

from modelen_site.experiments.plots import Drawn
from modelen_site.experiments.report import Report
from modelen_site.experiments.tables import Table, conditions, tables


def as_markdown(report: Report, plots: Sequence[Drawn]) -> str:
    with translation.override("en"):
        return "\n".join([*_lines(report, plots), ""])


def _lines(report: Report, plots: Sequence[Drawn]) -> Iterator[str]:
    yield from (f"# {report.title}", "")
    if report.description:
        yield from (report.description.strip(), "")
    yield from (f"- {head}: {sentence}." for head, sentence in conditions(report))
    yield f"- Made with `{report.command}`, version {report.version}."
    for table in tables(report):
        yield from ("", f"## {table.title}", "", *_table(table))
    for plot in plots:
        yield from ("", f"## {plot.title}", "", f"![{plot.alternative}]({plot.file})")


def _table(table: Table) -> Iterator[str]:
    if table.note:
        yield from (table.note, "")
    yield _line(table.heads)
    yield "|" + "---|" * (1 + table.words) + "--:|" * (len(table.heads) - 1 - table.words)
    yield from map(_line, table.rows)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"
