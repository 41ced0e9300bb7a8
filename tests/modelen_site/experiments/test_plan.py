"""An experiment's file: what it says, and what it is refused for."""

import pytest

from modelen_site.experiments.plan import PlanRefused, read_plan
from tests.modelen_site.experiments.small import as_toml, described, make_plan

DILOCO = {"name": "DiLoCo", "kind": "diloco", "clients": [2], "inner_steps": [4]}


def test_an_arm_is_every_combination_of_what_it_lists():
    arm = DILOCO | {"clients": [1, 2], "encodings": ["ham/ham", "topk/int4"]}
    settings = make_plan(arms=[arm]).settings
    assert [(s.clients, s.up, s.down) for s in settings] == [
        (1, "ham", "ham"), (1, "topk", "int4"), (2, "ham", "ham"), (2, "topk", "int4"),
    ]  # fmt: skip


@pytest.mark.parametrize("kind", ["single", "synchronous", "fedavg", "diloco"])
@pytest.mark.parametrize("clients", [1, 2, 4])
def test_every_kind_trains_the_same_tokens(kind, clients):
    arm = {"name": "arm", "kind": kind, "clients": [1 if kind == "single" else clients]}
    plan = make_plan(arms=[arm | {"inner_steps": [4]}])
    work = plan.work(plan.settings[0])
    sequences = work.workers * work.rounds * work.steps * work.batch_size
    assert sequences * plan.seq_len == plan.tokens


def test_what_bars_speak_of_is_trained_first():
    arm = DILOCO | {"clients": [1, 2, 4]}
    bar = {"title": "x", "of": {"arm": "DiLoCo", "clients": 4}, "at_most_percent": 1}
    plan = make_plan(arms=[arm], bars=[bar | {"against": {"arm": "DiLoCo", "clients": 2}}])
    assert [[s.clients for s in settings] for settings in plan.stages] == [[2, 4], [1]]


def test_an_arm_may_have_seeds_and_learning_rates_of_its_own():
    few = DILOCO | {"name": "few", "seeds": [5], "learning_rates": [1e-3]}
    plan = make_plan(arms=[DILOCO, few], seeds=[0, 1], learning_rates=[1e-2, 1e-3])
    one, other = plan.settings
    assert (plan.seeds_of(one), plan.rates_of(one)) == ((0, 1), (1e-2, 1e-3))
    assert (plan.seeds_of(other), plan.rates_of(other)) == ((5,), (1e-3,))
    assert plan.cells == 3 + 1


def test_fedavg_takes_the_mean_itself():
    (setting,) = make_plan(arms=[DILOCO | {"kind": "fedavg", "outer_momentum": 0.9}]).settings
    assert (setting.outer_lr, setting.outer_momentum) == (1.0, 0.0)


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"format": "scratch-huge"}, "known: "),
        ({"recipe": "v0"}, "known: v1, v2"),
        ({"format": "tiny-qwen3-lora-r4"}, "whole models"),
        ({"arms": [DILOCO, DILOCO]}, "two arms are the same"),
        ({"arms": [DILOCO | {"encodings": ["int4"]}]}, "write UP/DOWN"),
        ({"arms": [DILOCO | {"encodings": ["int4/mp3"]}]}, "write UP/DOWN"),
        ({"arms": [DILOCO | {"kind": "single"}]}, "is one client"),
        ({"arms": [DILOCO | {"colour": 1}]}, "arms.0.colour"),
        ({"arms": [DILOCO | {"clients": [3], "divisions": ["language"]}]}, "divide evenly"),
        ({"learning_rates": []}, "learning_rates"),
        ({"name": "../x"}, "name"),
        (
            {
                "arms": [DILOCO | {"clients": [1, 2]}],
                "bars": [
                    {
                        "title": "x",
                        "of": {"arm": "DiLoCo"},
                        "against": {"arm": "DiLoCo", "clients": 1},
                        "at_most_percent": 1,
                    }
                ],
            },
            "2 settings fit",
        ),
        (
            {"bars": [{"title": "x", "of": {"arm": "DiLoCo"}, "against": {"arm": "DiLoCo"}}]},
            "either at_most_percent or at_least_times",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_with_a_remedy(fields, told, tmp_path):
    file = tmp_path / "plan.toml"
    file.write_text(as_toml(described(**fields)), "utf-8")
    with pytest.raises(PlanRefused, match=told):
        read_plan(file)


def test_what_is_no_file_or_no_toml_is_refused(tmp_path):
    with pytest.raises(PlanRefused, match="cannot be read"):
        read_plan(tmp_path / "none.toml")
    file = tmp_path / "plan.toml"
    file.write_text("= 1", "utf-8")
    with pytest.raises(PlanRefused, match="no TOML"):
        read_plan(file)
