"""Each fault, put into a coordinator that is right, is found by the very check meant for it."""

from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path

import pytest

from tests.conformance.at_once import each_at_once
from tests.conformance.mutants import FULLER_MUTANTS, MUTANTS, Mutant
from tests.conformance.subjects import EXAMPLE, examine, serving, write_run
from tests.e2e.site import REPO
from worker_client.conformance.check import Outcome, Result

FULLER = REPO / "tests" / "conformance" / "fuller_coordinator.py"
OF = {EXAMPLE: MUTANTS, FULLER: FULLER_MUTANTS}


@pytest.fixture(scope="module")
def found(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[Mutant, Future[Outcome]]]:
    """What the check meant for a mutant says of it."""

    def find(mutant: Mutant) -> Outcome:
        program = EXAMPLE if mutant in MUTANTS else FULLER
        source = mutant.apply(program.read_text("utf-8"))
        with serving(source, write_run(tmp_path_factory.mktemp("mutant"))) as url:
            [outcome] = examine(url, mutant.caught_by)
        return outcome

    with each_at_once(request, "mutant", find) as futures:
        yield futures


@pytest.mark.parametrize("mutant", [*MUTANTS, *FULLER_MUTANTS], ids=lambda mutant: mutant.name)
def test_a_mutant_is_caught(mutant: Mutant, found: dict[Mutant, Future[Outcome]]) -> None:
    outcome = found[mutant].result()
    assert outcome.result is Result.FAILED, f"{outcome.result.value}: {outcome.detail}"


@pytest.mark.parametrize("program", OF, ids=lambda path: path.stem)
def test_the_checks_that_catch_mutants_pass_without_them(program: Path, run_folder: Path) -> None:
    wanted = sorted({mutant.caught_by for mutant in OF[program]})
    with serving(program.read_text("utf-8"), run_folder) as url:
        outcomes = examine(url, *wanted)
    told = {o.check.id: o.detail for o in outcomes if o.result is not Result.PASSED}
    assert not told
