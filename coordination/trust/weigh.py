"""How far a result is trusted in the merge."""

from coordination.models import Check, Result
from coordination.trust.policy import weight


def trust_in(result: Result) -> float:
    """1 if others have repeated it, else what its worker's standing promises, from 1/2 up."""
    check = getattr(result, "verification", None)
    verified = check is not None and check.state == Check.State.VALID
    return weight(result.lease.worker.standing, verified)
