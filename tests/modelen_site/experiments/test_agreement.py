"""The simulation and a real server with real workers: the same bytes in the end."""

from pathlib import Path

import pytest

from modelen_site.experiments.cells import Cell, Outcome
from modelen_site.experiments.plan import Plan, PlanRefused
from modelen_site.experiments.real import RealRun
from modelen_site.experiments.simulate import Simulation
from modelen_site.experiments.texts import prepare_texts, read_documents
from tests.modelen_site.experiments.small import make_plan, write_text

ARM = {"name": "arm", "kind": "diloco", "inner_steps": [4]}
OUTER = {"outer_lr": 0.7, "outer_momentum": 0.9}


def both(folder: Path, plan: Plan) -> tuple[Outcome, Outcome]:
    write_text(folder / "text")
    texts = prepare_texts(plan, read_documents(plan.text, folder), folder / "made")
    cell = Cell(setting=plan.settings[0], lr=plan.learning_rates[0], seed=7)
    outcomes = []
    for kind in (Simulation, RealRun):
        place = folder / kind.__name__
        place.mkdir()
        outcomes.append(kind(plan, cell, texts, place, lambda steps: None).run())
    return outcomes[0], outcomes[1]


@pytest.mark.parametrize(
    ("arm", "recipe"),
    [
        # One client of the last, since which of two takes which shard is for them to find out,
        # and what topk leaves out stays with the client.
        (ARM | OUTER | {"clients": [2], "encodings": ["int4/int8"]}, "v2"),
        (ARM | {"clients": [1], "encodings": ["topk/int4"]}, "v1"),
        (ARM | {"kind": "fedavg", "clients": [2]}, "v1"),
        ({"name": "arm", "kind": "synchronous", "clients": [2]}, "v1"),
    ],
    ids=lambda part: part if isinstance(part, str) else part["kind"],
)
def test_simulation_and_reality_end_with_the_same_bytes(arm, recipe, tmp_path):
    simulated, real = both(tmp_path, make_plan(arms=[arm], recipe=recipe))
    assert real.digest == simulated.digest
    assert real.validation == simulated.validation
    assert real.last.loss == simulated.last.loss
    assert (real.dtype, real.screened) == (simulated.dtype, 0)
    if arm["kind"] == "synchronous":
        # A real worker looks at held-out text between rounds only.
        assert [real.points[0], real.last.up] == [simulated.points[0], simulated.last.up]
        return
    assert [point.loss for point in real.points] == [point.loss for point in simulated.points]
    # A second with a digit more, and a client that came late and found its task taken.
    assert real.last.up == pytest.approx(simulated.last.up, abs=100)
    assert real.last.down <= simulated.last.down
    assert real.shard_bytes >= simulated.shard_bytes / len(arm["clients"])
    assert (real.wire_up or 0) > real.last.up and (real.wire_down or 0) > real.last.down


def test_what_no_run_can_do_is_refused_before_it_begins(tmp_path):
    plan = make_plan(tokens=10**6, arms=[{"name": "arm", "kind": "single"}])
    write_text(tmp_path / "text")
    texts = prepare_texts(plan, read_documents(plan.text, tmp_path), tmp_path / "made")
    cell = Cell(setting=plan.settings[0], lr=1e-3, seed=0)
    with pytest.raises(PlanRefused, match="raise batch_size"):
        RealRun(plan, cell, texts, tmp_path, lambda steps: None)
