"""Each fault, put into the minimal coordinator, is found by the very check that is meant for it."""

from pathlib import Path

import pytest

from tests.conformance.mutants import MUTANTS, Mutant
from tests.conformance.subjects import EXAMPLE, examine, serving
from worker_client.conformance.check import Result


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_is_caught(mutant: Mutant, run_folder: Path) -> None:
    source = mutant.apply(EXAMPLE.read_text("utf-8"))
    with serving(source, run_folder) as url:
        [outcome] = examine(url, mutant.caught_by)
    assert outcome.result is Result.FAILED, f"{outcome.result.value}: {outcome.detail}"


def test_the_checks_that_catch_mutants_pass_without_them(run_folder: Path) -> None:
    wanted = sorted({mutant.caught_by for mutant in MUTANTS})
    with serving(EXAMPLE.read_text("utf-8"), run_folder) as url:
        outcomes = examine(url, *wanted)
    told = {o.check.id: o.detail for o in outcomes if o.result is not Result.PASSED}
    assert not told
