"""All cells of a plan, each finished one a file, so that a grid goes on where it was stopped."""

import json
import shutil
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from modelen_site.experiments.cells import Cell, How, Outcome
from modelen_site.experiments.plan import Plan, Setting
from modelen_site.experiments.texts import Documents, digest_of, whole_file

# What an outcome follows from beside its cell; arms, seeds and rates may be added later.
FIELDS = {"format", "recipe", "seq_len", "batch_size", "tokens", "points", "text"}


def name_of(plan: Plan, documents: Documents, how: How) -> str:
    """Names this plan's cells; another text or another number is another name."""
    told = json.dumps([plan.model_dump(mode="json", include=FIELDS), digest_of(documents), how])
    return f"{how}-{sha256(told.encode()).hexdigest()[:12]}"


@dataclass(frozen=True)
class Grid:
    """The cells of ``plan``: their outcomes are kept in ``outcomes``, all else in ``folder``."""

    plan: Plan
    folder: Path
    outcomes: Path

    def outcome(self, cell: Cell) -> Outcome | None:
        with suppress(OSError, ValueError):
            return Outcome.model_validate_json(self._path(cell).read_text("utf-8"))
        return None

    def save(self, outcome: Outcome) -> None:
        path = self._path(outcome.cell)
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as draft:
            draft.write_text(outcome.model_dump_json(indent=1) + "\n", "utf-8")

    def workplace(self, cell: Cell) -> Path:
        """An empty folder for what a cell needs while it runs."""
        self.clear(cell)
        folder = self.folder / "work" / cell.key
        folder.mkdir(parents=True)
        return folder

    def clear(self, cell: Cell) -> None:
        shutil.rmtree(self.folder / "work" / cell.key, ignore_errors=True)

    def choosing(self, settings: Sequence[Setting]) -> list[Cell]:
        """Each of ``settings`` with every learning rate, on its first seed."""
        return [
            Cell(setting=setting, lr=lr, seed=self.plan.seeds_of(setting)[0])
            for setting in settings
            for lr in self.plan.rates_of(setting)
        ]

    def repeating(self, settings: Sequence[Setting]) -> list[Cell]:
        """Each of ``settings`` with the rate it has chosen, on the other seeds."""
        return [
            Cell(setting=setting, lr=lr, seed=seed)
            for setting in settings
            if (lr := self.chosen(setting)) is not None
            for seed in self.plan.seeds_of(setting)[1:]
        ]

    def chosen(self, setting: Setting) -> float | None:
        """The learning rate with the least validation loss; None where none is known yet."""
        cells = self.choosing([setting])
        outcomes = [outcome for cell in cells if (outcome := self.outcome(cell))]
        judged = [(o.validation, o.cell.lr) for o in outcomes if o.validation is not None]
        return min(judged)[1] if judged else None

    def missing(self, cells: Iterable[Cell]) -> list[Cell]:
        return [cell for cell in cells if self.outcome(cell) is None]

    def cost(self, cell: Cell) -> int:
        """In steps of ``batch_size`` sequences."""
        work = self.plan.work(cell.setting)
        return work.workers * work.rounds * work.steps * work.batch_size // self.plan.batch_size

    def steps_left(self) -> int:
        """Of all cells, those of later seeds included, whatever rates they will have."""
        later = [
            Cell(setting=setting, lr=self.chosen(setting) or 1.0, seed=seed)
            for setting in self.plan.settings
            for seed in self.plan.seeds_of(setting)[1:]
        ]
        return sum(map(self.cost, self.missing([*self.choosing(self.plan.settings), *later])))

    def _path(self, cell: Cell) -> Path:
        return self.outcomes / f"{cell.key}.json"
