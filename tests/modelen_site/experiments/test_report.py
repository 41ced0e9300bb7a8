"""From outcomes to findings, and from a report to Markdown and plots."""

import pytest
from django.utils import translation

from modelen_site.experiments.cells import Cell, Outcome, Point
from modelen_site.experiments.findings import (
    Facts,
    find,
    tokens_to,
    transfer_seconds,
    utilisation,
)
from modelen_site.experiments.grid import Grid
from modelen_site.experiments.markdown import as_markdown
from modelen_site.experiments.plots import PLOTS, draw_plots, drawn
from modelen_site.experiments.report import CurvePoint
from modelen_site.experiments.tables import conditions, tables
from tests.modelen_site.experiments.making import make_report
from tests.modelen_site.experiments.small import make_plan

ARMS = [
    {"name": "sync", "kind": "synchronous", "clients": [2]},
    {"name": "DiLoCo", "kind": "diloco", "clients": [2], "inner_steps": [4]},
]
FACTS = Facts("simulation", "manage.py experiment x.toml", "0.1.0", 9000, 0.5)


def bar(**fields):
    return {"title": "bar", "of": {"arm": "DiLoCo"}, "against": {"arm": "sync"}} | fields


def outcome(cell, validation, loss, up=0, down=0):
    points = [
        Point(
            round=n,
            tokens=512 * n,
            up=up * n,
            down=down * n,
            loss=at,
            by_language={"aa": at, "bb": at},
        )
        for n, at in ((0, 5.0), (1, (5.0 + loss) / 2), (2, loss))
    ]
    return Outcome(
        cell=cell, how="simulation", validation=validation, points=points, shard_bytes=8,
        first_bytes=4, failure="" if validation is not None else "the loss became nan",
    )  # fmt: skip


@pytest.fixture
def grid(tmp_path):
    def make(losses, **fields):
        """``losses``: (arm's place, lr, seed) -> (validation, test loss, up, down)."""
        given = {"arms": ARMS, "seeds": [0, 1], "learning_rates": [1e-3, 1e-2, 1e-1]}
        plan = make_plan(**given | fields)
        made = Grid(plan, tmp_path, tmp_path / "cells")
        for (place, lr, seed), (validation, loss, *sizes) in losses.items():
            cell = Cell(setting=plan.settings[place], lr=lr, seed=seed)
            made.save(outcome(cell, validation, loss, *sizes))
        return made

    return make


def test_the_rate_is_chosen_on_validation_text_not_on_test_text(grid):
    made = grid(
        {
            (0, 1e-3, 0): (3.0, 1.0),
            (0, 1e-2, 0): (2.0, 2.5),
            (0, 1e-1, 0): (None, 0.1),
            (0, 1e-2, 1): (2.2, 2.7),
            (0, 1e-3, 1): (1.0, 1.0),  # of a rate that was not chosen
        }
    )
    (row,) = find(made, FACTS).rows
    assert (row.lr, row.at_edge, row.losses) == (1e-2, False, [2.5, 2.7])
    assert row.loss == pytest.approx(2.6) and row.spread == pytest.approx(0.1414, abs=1e-4)


def test_a_rate_at_the_edge_of_the_grid_is_marked(grid):
    made = grid({(0, 1e-1, 0): (2.0, 2.5), (0, 1e-2, 0): (2.1, 2.4)})
    report = find(made, FACTS)
    assert report.rows[0].at_edge
    assert "0.1*" in as_markdown(report, [])


def test_a_rate_that_an_arm_was_given_is_marked(grid):
    own = ARMS[0] | {"learning_rates": [1e-1], "seeds": [0]}
    report = find(grid({(0, 1e-1, 0): (2.0, 2.5)}, arms=[own, ARMS[1]]), FACTS)
    assert (report.rows[0].at_edge, report.rows[0].was_given) == (False, True)
    assert "0.1†" in as_markdown(report, [])
    assert (report.cells_done, report.cells) == (1, 1 + 3 + 1)


def test_what_diverged_is_told_and_never_chosen(grid):
    report = find(grid({(0, 1e-1, 0): (None, 9.0), (0, 1e-2, 0): (2.1, 2.4)}), FACTS)
    assert [failure.lr for failure in report.failures] == [1e-1]
    assert "the loss became nan" in as_markdown(report, [])


@pytest.mark.parametrize(
    ("limits", "measured", "met"),
    [
        ({"at_most_percent": 2.5}, 4.0, False),
        ({"at_most_percent": 4.5}, 4.0, True),
        ({"at_least_times": 10}, 20.0, True),
        ({"at_least_times": 25}, 20.0, False),
    ],
)
def test_bars_are_met_or_missed(grid, limits, measured, met):
    losses = {(0, 1e-2, 0): (2.0, 2.5, 1000, 1000), (1, 1e-2, 0): (2.0, 2.6, 60, 40)}
    (verdict,) = find(grid(losses, bars=[bar(**limits)]), FACTS).bars
    assert verdict.measured == pytest.approx(measured)
    assert verdict.met is met


def test_a_bar_without_its_cells_is_not_measured(grid):
    report = find(grid({(0, 1e-2, 0): (2.0, 2.5)}, bars=[bar(at_most_percent=1)]), FACTS)
    assert report.bars[0].met is None
    assert "not measured" in as_markdown(report, [])
    assert "1 of 8 cells are done" in as_markdown(report, [])


def test_bytes_are_of_a_client_and_a_round(grid):
    (row,) = find(grid({(1, 1e-2, 0): (2.0, 2.5, 400, 200)}), FACTS).rows
    assert (row.rounds, row.total_bytes) == (2, 1200)  # both clients, both ways
    assert (row.up_a_round, row.down_a_round) == (200, 100)
    assert (row.shard_bytes, row.first_bytes) == (4, 2)
    assert row.utilisation[10] == pytest.approx(2.0 / (2.0 + 300 * 8 / 10e6))


def test_utilisation_is_the_share_of_time_not_spent_waiting():
    assert transfer_seconds(1_250_000, 10) == 1.0
    assert utilisation(3.0, 1_250_000, 10) == 0.75


def curve(*losses):
    return [CurvePoint(tokens=100 * n, round=n, bytes=0, loss=x) for n, x in enumerate(losses)]


def test_where_a_curve_comes_down_to_a_loss():
    assert tokens_to(curve(5, 4, 2), 3) == 150
    assert tokens_to(curve(5, 4, 2), 2) == 200
    assert tokens_to(curve(5, 2, 4, 1), 3) == pytest.approx(200 / 3)  # the first time
    assert tokens_to(curve(5, 4), 3) is None


def test_markdown_has_every_table_and_plot():
    report = make_report()
    text = as_markdown(report, drawn(report, "en"))
    for table in tables(report):
        assert f"## {table.title}\n" in text
        assert all(len(row) == len(table.heads) for row in table.rows)
    assert text.count("](") == len(PLOTS)
    assert "simulated in one process" in text
    assert "real server" in as_markdown(make_report(how="real"), [])


def test_words_follow_the_language_and_markdown_is_english():
    report = make_report()
    with translation.override("tr"):
        assert dict(conditions(report))["Tohumlar"] == "0, 1"
        assert "## Bars" in as_markdown(report, [])


def test_plots_are_the_same_bytes_again(tmp_path):
    report = make_report()
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        draw_plots(report, tmp_path / name)
    files = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert len(files) == 3 * len(PLOTS)  # SVG in two languages, PNG
    for name in files:
        one, other = ((tmp_path / folder / name).read_bytes() for folder in ("one", "other"))
        assert one == other


def test_a_plot_without_anything_to_show_is_left_out():
    rows = [row for row in make_report().rows if row.setting.kind == "synchronous"]
    names = {plot.name for plot in drawn(make_report(rows=rows), "en")}
    assert names == {"loss-tokens", "loss-bytes", "bytes", "utilisation"}
