"""What became of a delivered result, in the protocol's words."""

from coordination.models import Lease, Result, Unit
from worker_client.contract.errors import Refusal, Refused
from worker_client.contract.wire import Fate, Job, ResultFate

JOBS = {
    Unit.Job.TRAIN: Job.TRAIN,
    Unit.Job.VERIFY: Job.VERIFY,
    Unit.Job.EVALUATE: Job.EVALUATE,
    Unit.Job.PREPROCESS: Job.PREPROCESS,
}
FATES = {
    Result.State.WAITING: ResultFate.WAITING,
    Result.State.MERGED: ResultFate.MERGED,
    Result.State.SCREENED: ResultFate.SCREENED,
    Result.State.UNVERIFIED: ResultFate.UNVERIFIED,
    Result.State.REFUSED: ResultFate.REFUSED,
    Result.State.USED: ResultFate.USED,
}


def fate_of(lease: Lease) -> Fate:
    """The fate of the lease's accepted result, else of its last refused one.

    Raises:
        Refused: NOT_FOUND when nothing was delivered.
    """
    results = Result.objects.filter(lease=lease)
    result = results.exclude(state=Result.State.REFUSED).first() or results.first()
    if result is None:
        raise Refused(Refusal.NOT_FOUND, "nothing was delivered for this task")
    fate = FATES[Result.State(result.state)]
    return Fate(fate=fate, code=result.code or None, weight=result.weight)
