"""An experiment from its file to its report."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from modelen_site.experiments.cells import Cell, Outcome
from modelen_site.experiments.findings import Facts, find, labels_of
from modelen_site.experiments.grid import Grid, grid_folder
from modelen_site.experiments.plan import read_plan
from modelen_site.experiments.plots import draw_plots
from modelen_site.experiments.processes import simulate_all
from modelen_site.experiments.render import markdown
from modelen_site.experiments.speed import Speed, measure_speed
from modelen_site.experiments.texts import prepare_texts, read_documents
from worker_client.version import VERSION


class Story:
    """``root`` keeps grids and reports; ``command`` is what a report says it was made with."""

    def __init__(self, file: Path, root: Path, command: str) -> None:
        self.plan, self.command = read_plan(file), command
        documents = read_documents(self.plan.text, file.parent)
        self.grid = Grid(self.plan, grid_folder(root, self.plan, documents, "simulation"))
        self.texts = prepare_texts(self.plan, documents, self.grid.folder / "text")
        self.labels = labels_of(self.plan.settings)
        self.console = Console(stderr=True, highlight=False, soft_wrap=True)

    def tell(self, processes: int, out: Path | None) -> Path:
        """Run what is missing and write the report; its folder."""
        speed = measure_speed(self.plan, self.texts)
        self._announce(speed, processes)
        with Steps(self.console, self.grid.steps_left()) as steps:
            for cells in (self.grid.choosing, self.grid.repeating):
                self._run(self.grid.missing(cells()), processes, steps)
        return self._report(speed, out or self.grid.folder / "report")

    def _announce(self, speed: Speed, processes: int) -> None:
        plan, grid, steps = self.plan, self.grid, self.grid.steps_left()
        cells = len(plan.settings) * (len(plan.learning_rates) + len(plan.seeds) - 1)
        seconds = speed.seconds(steps, cells * (plan.points + 1) * bool(steps), processes)
        self.console.print(
            f"{plan.title}: {cells} cells, {steps} steps to take at {1e3 * speed.step:.1f} ms; "
            f"about {seconds / 3600:.2f} hours with {processes} at a time"
        )
        self.console.print(f"Kept in {grid.folder}; stopped, the same command goes on from there")

    def _run(self, cells: Sequence[Cell], processes: int, steps: "Steps") -> None:
        if not cells:
            return
        places = [(cell, self.grid.workplace(cell)) for cell in cells]
        for outcome in simulate_all(self.plan, self.texts, places, processes, steps.watch):
            self.grid.save(outcome)
            self.grid.clear(outcome.cell)
            self.console.print(self._line(outcome))
        steps.start_over()

    def _line(self, outcome: Outcome) -> str:
        cell = outcome.cell
        told = f"  {self.labels[cell.setting]}, lr {cell.lr:g}, seed {cell.seed}: "
        if outcome.validation is None:
            return told + outcome.failure
        return f"{told}loss {outcome.last.loss:.4f} in {outcome.seconds:.0f} s"

    def _report(self, speed: Speed, folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        step = self.plan.step_seconds or speed.step
        facts = Facts("simulation", self.command, VERSION, self.texts.train_tokens, step)
        report = find(self.grid, facts)
        (folder / "report.json").write_text(report.model_dump_json(indent=1) + "\n", "utf-8")
        try:
            plots = list(draw_plots(report, folder))
        except ImportError:
            plots = []
            self.console.print(
                "No plots: pip install -r requirements-experiments.txt brings matplotlib"
            )
        (folder / "report.md").write_text(markdown(report, plots), "utf-8")
        return folder


class Steps:
    """A bar on a terminal over all steps of a grid; a block."""

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
