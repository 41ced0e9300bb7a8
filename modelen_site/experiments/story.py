"""An experiment from its file to its report."""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from modelen_site.experiments.cells import Cell, How, Outcome
from modelen_site.experiments.findings import Facts, find
from modelen_site.experiments.grid import Grid, name_of
from modelen_site.experiments.labels import labels_of
from modelen_site.experiments.markdown import as_markdown
from modelen_site.experiments.plan import read_plan
from modelen_site.experiments.plots import ENGLISH, draw_plots, drawn
from modelen_site.experiments.processes import simulate_all
from modelen_site.experiments.publish import REPORT
from modelen_site.experiments.speed import Speed, measure_speed
from modelen_site.experiments.tables import verdict
from modelen_site.experiments.texts import prepare_texts, read_documents
from worker_client.cli.progress import bars
from worker_client.version import VERSION

Watch = Callable[[int], object]


class Story:
    """``root`` keeps grids and reports; ``command`` is what a report says it was made with.
    ``outcomes`` keeps those of cells elsewhere, such as among files under version control."""

    def __init__(
        self,
        file: Path,
        root: Path,
        how: How,
        command: str,
        console: Console | None = None,
        outcomes: Path | None = None,
    ) -> None:
        self.plan, self.how, self.command = read_plan(file), how, command
        documents = read_documents(self.plan.text, file.parent)
        folder = root / self.plan.name / name_of(self.plan, documents, how)
        kept = outcomes / folder.name if outcomes else folder / "cells"
        self.grid = Grid(self.plan, folder, kept)
        with bars() as progress:
            target = self.grid.folder / "text"
            self.texts = prepare_texts(self.plan, documents, target, progress)
        self.labels = labels_of(self.plan.settings)
        self.console = console or Console(stderr=True, highlight=False, soft_wrap=True)

    def tell(self, processes: int, out: Path | None = None) -> Path:
        """Run what is missing and write the report; its folder."""
        speed = self.announce(processes)
        with Steps(self.console, self.grid.steps_left()) as steps:
            for settings in self.plan.stages:
                for cells in (self.grid.choosing, self.grid.repeating):
                    self._run(self.grid.missing(cells(settings)), processes, steps)
        return self._report(speed, out or self.grid.folder / "report")

    def announce(self, processes: int) -> Speed:
        """Take a few steps and say how long all will take."""
        plan, steps = self.plan, self.grid.steps_left()
        speed = self._speed(is_needed=steps > 0)
        side_by_side = processes if self.how == "simulation" else self._clients_at_a_time()
        looks = plan.cells * (plan.points + 1) if steps else 0
        seconds = speed.seconds(steps, looks, side_by_side)
        self._say(
            f"{plan.title}: {plan.cells} cells, {steps} steps to take at "
            f"{1e3 * speed.step:.1f} ms, {side_by_side} at a time: about {_duration(seconds)}"
        )
        self._say(f"Kept in {self.grid.outcomes}; stopped, the same command goes on from there")
        return speed

    def _speed(self, is_needed: bool) -> Speed:
        """As last measured where nothing is left to do: a report made again is the same."""
        kept = self.grid.folder / "speed.json"
        if not is_needed and kept.exists():
            return Speed(**json.loads(kept.read_text("utf-8")))
        speed = measure_speed(self.plan, self.texts)
        kept.write_text(json.dumps(asdict(speed)) + "\n", "utf-8")
        return speed

    def _clients_at_a_time(self) -> int:
        clients = max(self.plan.work(setting).workers for setting in self.plan.settings)
        return min(clients, os.cpu_count() or 1)

    def _run(self, cells: Sequence[Cell], processes: int, steps: "Steps") -> None:
        for outcome in self._outcomes(cells, processes, steps.watch):
            self.grid.save(outcome)
            self.grid.clear(outcome.cell)
            self._say(self._line(outcome))
        steps.start_over()

    def _outcomes(self, cells: Sequence[Cell], processes: int, watch: Watch) -> Iterator[Outcome]:
        if self.how == "real":
            return self._real(cells, watch)
        places = [(cell, self.grid.workplace(cell)) for cell in cells]
        return simulate_all(self.plan, self.texts, places, processes, watch)

    def _real(self, cells: Sequence[Cell], watch: Watch) -> Iterator[Outcome]:
        """One after the other: each has a server and as many workers as it has clients."""
        from modelen_site.experiments.real import RealRun

        taken = 0

        def tick(steps: int) -> None:
            nonlocal taken
            taken += steps
            watch(taken)

        for cell in cells:
            place = self.grid.workplace(cell)
            yield RealRun(self.plan, cell, self.texts, place, tick).run()

    def _line(self, outcome: Outcome) -> str:
        cell = outcome.cell
        told = f"  {self.labels[cell.setting]}, lr {cell.lr:g}, seed {cell.seed}: "
        if outcome.validation is None:
            return told + outcome.failure
        return f"{told}loss {outcome.last.loss:.4f} in {outcome.seconds:.0f} s"

    def _report(self, speed: Speed, folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        step = self.plan.step_seconds or speed.step
        facts = Facts(self.how, self.command, VERSION, self.texts.train_tokens, step)
        report = find(self.grid, facts)
        (folder / REPORT).write_text(report.model_dump_json(indent=1) + "\n", "utf-8")
        try:
            draw_plots(report, folder)
        except ImportError:
            self._say("No plots: pip install -r requirements-experiments.txt brings matplotlib")
        plots = [plot for plot in drawn(report, ENGLISH) if (folder / plot.file).exists()]
        (folder / "report.md").write_text(as_markdown(report, plots), "utf-8")
        for bar in report.bars:
            self._say(f"{bar.title}: {verdict(bar)}")
        return folder

    def _say(self, line: str) -> None:
        self.console.print(line, markup=False)


def _duration(seconds: float) -> str:
    return f"{seconds / 3600:.1f} hours" if seconds >= 3600 else f"{seconds / 60:.1f} minutes"


class Steps:
    """A bar over all steps of a grid, on a terminal; a block."""

    def __init__(self, console: Console, total: int) -> None:
        self._progress = Progress(
            TextColumn("  steps"), BarColumn(), TextColumn("{task.completed:.0f}/{task.total:.0f}"),
            TimeElapsedColumn(), TimeRemainingColumn(), console=console, transient=True,
            disable=not console.is_terminal,
        )  # fmt: skip
        self._bar, self._before, self._now = self._progress.add_task("", total=total), 0, 0

    def __enter__(self) -> "Steps":
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def watch(self, done: int) -> None:
        """``done`` since the last ``start_over``."""
        self._now = done
        self._progress.update(self._bar, completed=self._before + done)

    def start_over(self) -> None:
        self._before, self._now = self._before + self._now, 0
