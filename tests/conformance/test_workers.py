"""Workers that keep to the protocol pass; each fault is found by the check meant for it."""

import shlex
import sys
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path

import pytest

from tests.conformance.at_once import each_at_once
from tests.conformance.mutants import Mutant
from tests.conformance.worker_mutants import WORKER_MUTANTS
from tests.e2e.site import REPO, fetch_model
from worker_client.conformance.check import Check, Outcome, Result
from worker_client.conformance.runner import run_checks
from worker_client.conformance.worker.checks import worker
from worker_client.conformance.worker.rehearsal import Rehearsal
from worker_client.contract.formats import AdapterFormat, load_format

SMALL = REPO / "tests" / "conformance" / "small_worker.py"
TINY = load_format("tiny-qwen3-lora-r4")
PROTOCOL = " ".join((REPO / "docs" / "protocol-v1.md").read_text("utf-8").split())


@pytest.fixture(scope="module", autouse=True)
def environment() -> Iterator[pytest.MonkeyPatch]:
    """What the workers' processes find."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(REPO))
        patch.setenv("OMP_NUM_THREADS", "1")
        yield patch


def rehearse(command: str, *only: str, patience: float = 300.0) -> list[Outcome]:
    assert isinstance(TINY, AdapterFormat)
    with Rehearsal(command, TINY, patience) as rehearsal:
        checks = worker.select(only)
        return run_checks(checks, rehearsal, lambda check: None, lambda outcome: None)


def small(source: str, folder: Path) -> str:
    """The command of a small worker with this source."""
    program = folder / "small_worker.py"
    program.write_text(source, "utf-8")
    return f"{shlex.quote(sys.executable)} {shlex.quote(str(program))} {{url}} {{dir}}"


@pytest.mark.parametrize("check", worker.checks, ids=lambda check: check.id)
def test_the_clause_stands_in_the_protocol(check: Check) -> None:
    assert " ".join(check.clause.split()) in PROTOCOL


def test_a_small_worker_passes(tmp_path: Path) -> None:
    # But for the hostile ones: they take a process for each temptation. The real worker meets them.
    outcomes = rehearse(small(SMALL.read_text("utf-8"), tmp_path), "[!h]*", "headers")
    told = {o.check.id: o.detail for o in outcomes if o.result is not Result.PASSED}
    assert not told


@pytest.fixture(scope="module")
def found(
    request: pytest.FixtureRequest,
    environment: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[dict[Mutant, Future[Outcome]]]:
    """What the check meant for a fault says of it."""

    def find(mutant: Mutant) -> Outcome:
        source = mutant.apply(SMALL.read_text("utf-8"))
        command = small(source, tmp_path_factory.mktemp("worker"))
        # A worker that goes astray may never come to the end that a scene waits for.
        [outcome] = rehearse(command, mutant.caught_by, patience=40.0)
        return outcome

    with each_at_once(request, "mutant", find) as futures:
        yield futures


@pytest.mark.parametrize("mutant", WORKER_MUTANTS, ids=lambda mutant: mutant.name)
def test_a_fault_is_found(mutant: Mutant, found: dict[Mutant, Future[Outcome]]) -> None:
    outcome = found[mutant].result()
    assert outcome.result is Result.FAILED, f"{outcome.result.value}: {outcome.detail}"


def test_every_check_finds_a_fault() -> None:
    assert {check.id for check in worker.checks} == {one.caught_by for one in WORKER_MUTANTS}


def test_a_command_that_is_none_is_told(tmp_path: Path) -> None:
    [outcome] = rehearse(str(tmp_path / "no-such-program"), "headers")
    assert outcome.result is Result.FAILED
    assert "cannot be started" in outcome.detail


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    yield fetch_model(tmp_path_factory.mktemp("models"))


def test_the_real_worker_passes(models: Path, environment: pytest.MonkeyPatch) -> None:
    environment.setenv("MODELEN_MODELS_DIR", str(models))
    command = f"{shlex.quote(sys.executable)} -m worker_client run {{url}} --state-dir {{dir}}"
    outcomes = rehearse(f"{command} --threads 1 --device cpu")
    told = {o.check.id: o.detail for o in outcomes if o.result is not Result.PASSED}
    assert not told
