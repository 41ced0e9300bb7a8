"""How far a result is trusted in the merge."""

from coordination.models import Check, Result, Run
from coordination.trust.policy import weight


def trust_in(result: Result) -> float:
    """1 if others have repeated it, else what its worker's standing promises, from 1/2 up."""
    check = getattr(result, "verification", None)
    verified = check is not None and check.state == Check.State.VALID
    return weight(result.lease.worker.standing, verified)


def is_beyond_doubt(run: Run, result: Result) -> bool:
    """Whether the merging rule need not survive it: others have repeated the result, or it is a
    proven worker's that the draw passed over."""
    check = getattr(result, "verification", None)
    if not run.verify:
        return False
    if check is not None:
        return check.state == Check.State.VALID
    return run.check_policy.is_proven(result.lease.worker.standing)
