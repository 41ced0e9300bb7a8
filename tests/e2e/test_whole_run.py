"""One run from its first lease to a loadable adapter, all in real processes."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.site import Site, WorkerProcess
from worker_client.contract.formats import load_adapter_format

ROUNDS = 3
SLUG = "whole"


class Finished:
    """The site after its run, and the two workers that did it."""

    def __init__(self, site: Site, workers: list[WorkerProcess], exits: list[int]) -> None:
        self.site, self.workers, self.exits = site, workers, exits


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, models: Path) -> Iterator[Finished]:
    with Site(tmp_path_factory.mktemp("whole"), models) as site:
        site.make_run(SLUG, rounds=ROUNDS, inner_steps=3)
        site.start()
        workers = [site.worker(SLUG, name) for name in ("ada", "bob")]
        yield Finished(site, workers, [worker.wait() for worker in workers])


def test_both_workers_end_with_the_run(finished: Finished) -> None:
    assert finished.exits == [0, 0]
    for worker in finished.workers:
        (end,) = worker.named("finished")
        assert (end["reason"], end["refused"]) == ("run_over", 0)


def test_every_result_counts_once(finished: Finished) -> None:
    rows = finished.site.rows("select state, holds_unit from coordination_result")
    assert rows == [("merged", 1)] * (2 * ROUNDS)
    accepted = sum(end["accepted"] for w in finished.workers for end in w.named("finished"))
    assert accepted == 2 * ROUNDS


def test_the_status_says_that_it_is_over(finished: Finished) -> None:
    status = finished.site.status(SLUG)
    assert status["durum"] == "bitti"
    assert status["sonuc"] == {"kabul": 2 * ROUNDS, "ret": 0, "elenen": 0}
    assert [row["tur"] for row in status["gecmis"]] == [1, 2, 3]
    shown = json.loads(finished.site.manage("run_status", SLUG, "--json"))
    assert shown["gecmis"] == status["gecmis"]


def test_workers_hear_what_became_of_their_results(finished: Finished) -> None:
    fates = [event["fate"] for worker in finished.workers for event in worker.named("fate")]
    assert fates == ["birlesti"] * (2 * ROUNDS)


def test_the_last_snapshot_is_an_adapter_that_peft_loads(
    finished: Finished, models: Path, tmp_path: Path
) -> None:
    import torch
    from peft import PeftModel
    from safetensors.torch import load_file

    from worker_client.models.load import load_base
    from worker_client.models.store import ModelStore

    adapter = tmp_path / "adapter"
    finished.site.manage("export_adapter", SLUG, "--out", str(adapter))
    fmt = load_adapter_format("tiny-qwen3-lora-r4")
    base = load_base(fmt, ModelStore(models), torch.float32)
    model = PeftModel.from_pretrained(base, str(adapter))
    trained = load_file(adapter / "adapter_model.safetensors")
    assert trained.keys() == {spec.name for spec in fmt.tensors}
    loss = model(input_ids=torch.arange(8)[None], labels=torch.arange(8)[None]).loss
    assert torch.isfinite(loss)
