from collections.abc import Callable

import pytest

from coordination.models import Run
from coordination.rounds.reconcile import reconcile
from tests.coordination.making import WorkerOf


@pytest.fixture
def play_round(result_file, post_whole) -> Callable[[Run, float], None]:
    """Lease, deliver and merge one round of a run, over the protocol."""

    def play(run: Run, loss: float) -> None:
        for name, seed in (("ada", 2), ("bob", 3)):
            worker = WorkerOf(run, name)
            answer = post_whole(worker, worker.lease(), result_file(seed, kayip_son=str(loss)))
            assert answer.status_code == 200, answer.content
        reconcile()

    return play
