"""Each fault, put into a coordinator that is right, is found by the very check meant for it."""

from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conformance.at_once import each_at_once
from tests.conformance.mutants import (
    CLOSED_MUTANTS,
    FULLER_MUTANTS,
    MUTANTS,
    SFT_MUTANTS,
    Mutant,
)
from tests.conformance.part_mutants import (
    BF16_MUTANTS,
    ENCODING_MUTANTS,
    INT4_MUTANTS,
    JUDGING_MUTANTS,
    MEASURING_MUTANTS,
    PREPARING_MUTANTS,
    REPEATING_MUTANTS,
    TOPK_MUTANTS,
    UPDATE_MUTANTS,
)
from tests.conformance.subjects import EXAMPLE, FULLER, examine, serving, write_run
from worker_client.conformance.check import Outcome, Result
from worker_client.conformance.checks import coordinator

ENCODING = FULLER.with_name("encoding_coordinator.py")
REPEATING = FULLER.with_name("repeating_coordinator.py")
REFERENCE = ("downlink=", "birlestirme=referans")


@dataclass(frozen=True)
class Subject:
    """A program, the fields of its run, and the faults to put into it."""

    name: str
    program: Path
    mutants: list[Mutant]
    fields: tuple[str, ...] = ()

    def write_run(self, folder: Path) -> Path:
        return write_run(folder, labels="mod=sft" in self.fields)


SUBJECTS = [
    Subject("minimal", EXAMPLE, MUTANTS),
    Subject("sft", EXAMPLE, SFT_MUTANTS, ("mod=sft",)),
    Subject("fuller", FULLER, FULLER_MUTANTS),
    Subject("closed", FULLER, CLOSED_MUTANTS, ("acik=",)),
    Subject("int8", ENCODING, ENCODING_MUTANTS, REFERENCE),
    Subject("int4", ENCODING, INT4_MUTANTS, (*REFERENCE, "encoding=int4")),
    Subject("topk", ENCODING, TOPK_MUTANTS, (*REFERENCE, "encoding=topk")),
    Subject("bf16", ENCODING, BF16_MUTANTS, (*REFERENCE, "encoding=bf16")),
    Subject("update", ENCODING, UPDATE_MUTANTS),
    Subject("measuring", FULLER.with_name("measuring_coordinator.py"), MEASURING_MUTANTS),
    Subject("preparing", FULLER.with_name("preparing_coordinator.py"), PREPARING_MUTANTS),
    Subject("judging", FULLER.with_name("judging_coordinator.py"), JUDGING_MUTANTS),
    Subject("repeating", REPEATING, REPEATING_MUTANTS, ("tur_sayisi=3",)),
]
# Without a fault there is nothing that these could look at.
HIDDEN = {"file-retention", "all-waits"}
FAULTS = [mutant for subject in SUBJECTS for mutant in subject.mutants]


@pytest.fixture(scope="module")
def found(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[Mutant, Future[Outcome]]]:
    """What the check meant for a mutant says of it."""

    def find(mutant: Mutant) -> Outcome:
        subject = next(one for one in SUBJECTS if mutant in one.mutants)
        source = mutant.apply(subject.program.read_text("utf-8"))
        folder = subject.write_run(tmp_path_factory.mktemp("mutant"))
        with serving(source, folder, *subject.fields) as url:
            return examine(url, *mutant.after, mutant.caught_by)[-1]

    with each_at_once(request, "mutant", find) as futures:
        yield futures


@pytest.mark.parametrize("mutant", FAULTS, ids=lambda mutant: mutant.name)
def test_a_mutant_is_caught(mutant: Mutant, found: dict[Mutant, Future[Outcome]]) -> None:
    outcome = found[mutant].result()
    assert outcome.result is Result.FAILED, f"{outcome.result.value}: {outcome.detail}"


def test_every_check_catches_a_mutant() -> None:
    shown = [check.id for check in coordinator.checks if not check.id.startswith("unseen-")]
    assert set(shown) == {mutant.caught_by for mutant in FAULTS}


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.name)
def test_the_checks_that_catch_mutants_pass_without_them(subject: Subject, tmp_path: Path) -> None:
    wanted = {name for mutant in subject.mutants for name in (*mutant.after, mutant.caught_by)}
    folder = subject.write_run(tmp_path)
    with serving(subject.program.read_text("utf-8"), folder, *subject.fields) as url:
        outcomes = examine(url, *sorted(wanted - HIDDEN))
    told = {o.check.id: o.detail for o in outcomes if o.result is not Result.PASSED}
    assert not told
