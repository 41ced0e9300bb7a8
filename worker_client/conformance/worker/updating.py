"""``fark`` from a coordinator: followed where it leads to the snapshot, else the whole file."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from worker_client.conformance import weights
from worker_client.conformance.check import NotObservable, demand
from worker_client.conformance.worker import material
from worker_client.conformance.worker.checks import worker as check
from worker_client.conformance.worker.rehearsal import Rehearsal
from worker_client.conformance.worker.scene import Played, play
from worker_client.conformance.worker.stage import Stage
from worker_client.contract.encodings import CODECS

CODEC = CODECS["bf16"]
STEP, FAR = 1e-3, 10.0
Forge = Callable[[np.ndarray], bytes]


@dataclass(frozen=True)
class Update:
    """Two rounds whose second snapshot can be reached by an update; ``forge`` makes its file from
    the encoded step."""

    played: Played
    fetched: bool
    whole: bool


def updated(rehearsal: Rehearsal, forge: Forge) -> Update:
    """Raises NotObservable where the worker never says that it holds a snapshot."""
    stage = Stage(rehearsal.fmt, with_about=False)
    start = weights.read_weights(stage.files["/adaptor"], "the first snapshot")
    step = weights.noise(start.values.size, STEP * np.sqrt(start.values.size), 5)
    data = weights.encode(CODEC, step)
    after = start.moved(weights.decode(CODEC, data, step.size))
    stage.files["/adaptor-2"] = material.later_snapshot(rehearsal.fmt, 2, after.values)
    stage.files["/fark-2"] = forge(step)
    fark = stage.file_ref("/fark-2") | {"tur": 1, "kodlama": CODEC.id}
    stage.task_changes = [{}, {"adaptor": stage.file_ref("/adaptor-2"), "fark": fark}]
    scene = play(rehearsal, stage)
    if not any(lease.asked.get("elde") == 1 for lease in stage.leases[1:]):
        raise NotObservable(f"it never said elde: 1, which is optional; {scene.last_words}")
    fetched = bool(stage.requests("GET", "/fark-2"))
    if not fetched:
        raise NotObservable("it left the update alone, which is optional")
    return Update(scene, fetched, bool(stage.requests("GET", "/adaptor-2")))


def demand_trained_from(update: Update, rehearsal: Rehearsal) -> None:
    """Raises Failed unless the second result is a short way from the second snapshot."""
    scene = update.played
    demand(len(scene.taken) > 1, f"no result of round 2; {scene.last_words}")
    start = weights.read_weights(scene.stage.files["/adaptor-2"], "snapshot 2").parts()
    made = weights.read_weights(scene.taken[1].results[0], "the result").parts()
    moved = sum(float(np.square(made[n] - start[n], dtype=np.float64).sum()) for n in start) ** 0.5
    limit = weights.norm_limit(0.001, 2, rehearsal.fmt.parameters)
    demand(0 < moved <= limit, f"its second result lies {moved:g} from snapshot 2, not {limit:g}")


def honest(step: np.ndarray) -> bytes:
    return weights.delta_file(CODEC.id, weights.encode(CODEC, step), {})


def elsewhere(step: np.ndarray) -> bytes:
    """A right file that leads far away."""
    return honest((FAR * step).astype(weights.FLOAT32))


def no_update(step: np.ndarray) -> bytes:
    return b"no safetensors file, though its digest is right" * 40


@check(
    "update-followed",
    "It adds the decoded delta to its weights in float32 and writes them behind the header of "
    "snapshot t",
)
def update_followed(rehearsal: Rehearsal) -> None:
    update = updated(rehearsal, honest)
    demand_trained_from(update, rehearsal)
    demand(not update.whole, "the update led to snapshot 2, and the whole file was fetched too")


@check("hostile-update", "where the digest differs the worker fetches `adaptor` whole.")
def hostile_update(rehearsal: Rehearsal) -> None:
    for forge in (elsewhere, no_update):
        update = updated(rehearsal, forge)
        demand(
            update.whole,
            f"an update led elsewhere, and the whole file was not fetched; "
            f"{update.played.last_words}",
        )
        demand_trained_from(update, rehearsal)
