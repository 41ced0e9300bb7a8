"""A simulated cell: training, encodings and merging as they are, on files."""

from pathlib import Path
from typing import Any

import pytest

from modelen_site.experiments.cells import Cell, Outcome
from modelen_site.experiments.simulate import Simulation, is_due
from modelen_site.experiments.texts import prepare_texts, read_documents
from tests.modelen_site.experiments.small import make_plan, write_text
from worker_client.contract.encodings import CODECS, encoded_bytes
from worker_client.contract.formats import load_format

PARAMETERS = load_format("scratch-tiny").parameters
HEADER = 4096  # no file of the tiny format has a longer one


@pytest.fixture(scope="module")
def beside(tmp_path_factory):
    folder = tmp_path_factory.mktemp("experiment")
    write_text(folder / "text")
    return folder


class Lab:
    """Simulates cells; ``ticks`` are what they told of their steps."""

    def __init__(self, beside: Path, folder: Path) -> None:
        self._beside, self._folder, self.ticks = beside, folder, list[int]()

    def __call__(self, arm: dict, **fields: Any) -> Outcome:
        plan = make_plan(arms=[arm], **fields)
        documents = read_documents(plan.text, self._beside)
        texts = prepare_texts(plan, documents, self._folder / "made")
        folder = self._folder / f"cell-{len(self.ticks)}"
        folder.mkdir()
        cell = Cell(setting=plan.settings[0], lr=1e-2, seed=0)
        return Simulation(plan, cell, texts, folder, self.ticks.append).run()


@pytest.fixture
def simulate(beside, tmp_path):
    return Lab(beside, tmp_path)


def diloco(**fields):
    return {"name": "arm", "kind": "diloco", "clients": [2], "inner_steps": [4]} | fields


def test_the_loss_falls_and_everything_is_counted(simulate):
    outcome = simulate(diloco())
    first, last = outcome.points[0], outcome.last
    assert last.loss < 0.9 * first.loss
    assert (last.tokens, last.round) == (1024, 2)
    assert sum(simulate.ticks) == 16  # 2 clients, 2 rounds, 4 steps
    whole = 4 * PARAMETERS
    assert 4 * whole < last.up < 4 * (whole + HEADER)
    assert 2 * whole < last.down < 2 * (whole + HEADER)  # round 1's are first snapshots
    assert outcome.first_bytes > 2 * whole and outcome.shard_bytes > 0


@pytest.mark.parametrize("pair", ["bf16/bf16", "int8/int8", "int4/int4", "topk/int4", "ham/topk"])
def test_encodings_take_the_bytes_that_they_say(simulate, pair):
    up, down = pair.split("/")
    last = simulate(diloco(encodings=[pair])).last

    def size(name):
        return encoded_bytes(CODECS[name], PARAMETERS) if name in CODECS else 4 * PARAMETERS

    assert 4 * size(up) < last.up < 4 * (size(up) + HEADER)
    assert 2 * size(down) < last.down < 2 * (size(down) + HEADER)


def test_a_cell_gives_the_same_bytes_again(simulate):
    arm = diloco(encodings=["topk/int4"])
    assert simulate(arm).digest == simulate(arm).digest != simulate(diloco()).digest


def test_fedavg_of_one_client_is_its_result(simulate):
    """One round of one client, with nothing that moves the mean: a single machine."""
    fedavg = simulate(diloco(kind="fedavg", clients=[1], inner_steps=[16]))
    single = simulate({"name": "arm", "kind": "single"})
    assert fedavg.last.loss == pytest.approx(single.last.loss, rel=1e-6)


def test_synchronous_training_is_one_machine_with_all_batches(simulate):
    outcome = simulate({"name": "arm", "kind": "synchronous", "clients": [4]})
    assert sum(simulate.ticks) == 16 and outcome.last.tokens == 1024
    assert outcome.last.up == outcome.last.down == 4 * 4 * 4 * PARAMETERS  # clients, steps, floats
    assert [point.tokens for point in outcome.points] == [0, 512, 1024]


def test_what_diverges_is_an_outcome_too(simulate, monkeypatch):
    from worker_client.training import task

    monkeypatch.setattr(task, "isfinite", lambda value: False)
    outcome = simulate(diloco())
    assert outcome.validation is None and "learning rate" in outcome.failure


@pytest.mark.parametrize(("total", "points"), [(10, 5), (7, 3), (3, 10), (1, 1)])
def test_points_are_spread_and_end_at_the_end(total, points):
    due = [step for step in range(1, total + 1) if is_due(step, total, points)]
    assert len(due) == min(total, points) and due[-1] == total
