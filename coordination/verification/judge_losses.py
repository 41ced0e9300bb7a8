"""Reach a verdict on a result from losses that others have measured.

One measurement that finds the result plausible is enough. Who finds it implausible may be wrong, or
lie, so somebody else is asked, and two against one decide. Losses are weaker evidence than a
repetition: nobody gains or loses standing by them.
"""

from dataclasses import asdict, dataclass

from coordination.models import Check, Result, Run
from coordination.trust.record import record_error
from coordination.verification.begin import ask_for_measurement
from coordination.verification.finish import finish_check
from coordination.verification.gains import Gains
from coordination.verification.verifiers import evaluators


@dataclass(frozen=True)
class Measurement:
    """One worker's losses about a result, as they are kept in evidence; ``losses`` in pairs before
    and after, ``harm``, ``own`` and ``other`` as in ``Gains``."""

    lease: int
    workers: list[str]
    language: str
    losses: list[float]
    harm: float
    own: float | None
    other: float | None
    dtype: str
    device: str
    agrees: bool


def measurement_of(target: Result, measured: Result, losses: list[float]) -> Measurement:
    """What ``measured``, unsaved, says of ``target``."""
    gains, held_out = Gains.of(losses), measured.unit.held_out
    return Measurement(
        lease=measured.lease_id,
        workers=[target.lease.worker.name, measured.lease.worker.name],
        language=held_out.language if held_out else "",
        losses=losses,
        **asdict(gains),
        dtype=measured.dtype,
        device=measured.device,
        agrees=gains.are_plausible,
    )


def judge_losses(run: Run, target: Result, measurement: Measurement) -> None:
    """Add a measurement to the evidence and decide if that is possible.

    Call it with the workers of ``involved`` and the round locked.
    """
    check = Check.objects.select_for_update().get(result=target)
    check.evidence = [*check.evidence, asdict(measurement)]
    check.save(update_fields=["evidence"])
    if measurement.agrees:
        finish_check(check, Check.State.PLAUSIBLE)
    elif len(check.evidence) > 1:
        _find_implausible(check)
    elif evaluators(target).exists():
        ask_for_measurement(run, target)
    else:
        decide_by_losses(run, check)


def decide_by_losses(run: Run, check: Check) -> None:
    """End a dispute of one against one: a proven worker's word stands against an unproven one's;
    otherwise the result is left out."""
    author = run.check_policy.is_proven(check.result.lease.worker.standing)
    other = any(run.check_policy.is_proven(it.lease.worker.standing) for it in _sent(check))
    if author == other:
        finish_check(check, Check.State.UNDECIDED)
    elif author:
        finish_check(check, Check.State.PLAUSIBLE)
    else:
        _find_implausible(check)


def is_about_losses(check: Check) -> bool:
    """Whether what has been said of the check's result are measurements."""
    return any("losses" in opinion for opinion in check.evidence)


def _sent(check: Check) -> list[Result]:
    sent = Result.objects.filter(unit__target=check.result, state=Result.State.USED)
    return list(sent.select_related("lease__worker"))


def _find_implausible(check: Check) -> None:
    finish_check(check, Check.State.IMPLAUSIBLE)
    record_error(check.result.lease.worker_id)  # fewer tasks for a while
