"""What ``topk`` leaves out of one delta and adds to the next, if the first was merged."""

from typing import Any

import numpy as np

from worker_client.conformance import weights
from worker_client.conformance.check import NotObservable, demand
from worker_client.conformance.worker.checks import worker as check
from worker_client.conformance.worker.rehearsal import Rehearsal
from worker_client.conformance.worker.repeating import apart, lease_of, update_of
from worker_client.conformance.worker.scene import Played, play
from worker_client.conformance.worker.stage import Changes, Stage, StageLease
from worker_client.contract.encodings import CODECS

TOPK = CODECS["topk"]
ROUNDS = 3
FIRST, SECOND, THIRD = 1, 2, 3  # leases in topk, each of its own round; then each in ham
WHOLE = {FIRST: 4, SECOND: 5, THIRD: 6}
# Trained twice, the numbers that are largest are nearly the same ones.
AGREES = 0.2


def remembered(rehearsal: Rehearsal) -> Played:
    """The first delta is merged, the second is not. Raises NotObservable without topk."""
    if "remembered" not in rehearsal.scenes:
        stage = Stage(
            rehearsal.fmt, rounds=2 * ROUNDS, with_about=False, left_out=frozenset({SECOND})
        )
        encoded = [_in_topk(number) for number in range(1, ROUNDS + 1)]
        plain = [_task(number) for number in range(1, ROUNDS + 1)]
        stage.task_changes = [*encoded, *plain]
        rehearsal.scenes["remembered"] = play(rehearsal, stage)
    scene = rehearsal.scenes["remembered"]
    assert isinstance(scene, Played)
    if not scene.stage.leases or not scene.stage.leases[0].offers(TOPK.id):
        raise NotObservable("it does not offer topk, which is optional")
    return scene


def _task(number: int) -> dict[str, Any]:
    return {"tur": number, "tur_sayisi": ROUNDS}


def _in_topk(number: int) -> Changes:
    def changes(lease: StageLease) -> dict[str, Any]:
        return _task(number) | ({"kodlama": TOPK.id} if lease.offers(TOPK.id) else {})

    return changes


def delta_of(scene: Played, number: int, count: int) -> np.ndarray:
    data, _ = weights.read_delta(lease_of(scene, number).results[0], "the topk")
    return weights.decode(TOPK, data, count)


def kept(update: np.ndarray) -> np.ndarray:
    """What topk keeps of an update."""
    return weights.decode(TOPK, weights.encode(TOPK, update), update.size)


@check("topk-adds", "With `topk` the worker adds to each delta what its earlier ones left out")
def topk_adds(rehearsal: Rehearsal) -> str:
    scene = remembered(rehearsal)
    first, second = (update_of(scene, WHOLE[number]) for number in (FIRST, SECOND))
    left_out = first - delta_of(scene, FIRST, first.size)
    found = delta_of(scene, SECOND, second.size)
    off = apart(found, kept(second + left_out))
    without = apart(found, kept(second))
    demand(off <= AGREES, f"it is {off:.2f} apart from that, {without:.2f} from the update alone")
    return f"{off:.2g} apart"


@check("topk-forgets", "and forgets that when a delta was not merged;")
def topk_forgets(rehearsal: Rehearsal) -> str:
    scene = remembered(rehearsal)
    update = update_of(scene, WHOLE[THIRD])
    found = delta_of(scene, THIRD, update.size)
    off = apart(found, kept(update))
    demand(off <= AGREES, f"after a delta that was left out the next is {off:.2f} from its update")
    return f"{off:.2g} apart"
