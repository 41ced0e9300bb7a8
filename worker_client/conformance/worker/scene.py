"""One run of a worker, seen to its end: two results taken, after all kinds of trouble."""

import time
from dataclasses import dataclass

from worker_client.conformance.check import Failed, NotObservable
from worker_client.conformance.worker import acts
from worker_client.conformance.worker.rehearsal import Rehearsal
from worker_client.conformance.worker.serving import serving
from worker_client.conformance.worker.stage import Fault, Heard, Stage, StageLease
from worker_client.contract.errors import Refusal

WAIT_S = 2
# How long a worker that heard that the run is over is watched for another request.
SILENCE_S = 3.0


@dataclass(frozen=True)
class Played:
    stage: Stage
    ended: bool
    last_words: str

    @property
    def taken(self) -> list[StageLease]:
        """The leases whose result was accepted, in order."""
        stage = self.stage
        return [one for one in stage.leases if one.results and one.number not in stage.refused]

    def fault(self, name: str) -> tuple[Fault, list[Heard]]:
        """A fault and what was heard after it; raises NotObservable if it was never met."""
        fault = self.stage.fault(name)
        if fault.heard is None:
            raise NotObservable(f"the worker never came to it; {self.last_words}")
        return fault, self.stage.after(fault)


def trouble() -> list[Fault]:
    return [
        Fault("busy", "GET", "/bilgi", acts.busy(WAIT_S)),
        Fault("page", "POST", "/gorev", acts.page),
        Fault("nothing", "POST", "/gorev", acts.nothing(WAIT_S)),
        Fault("approval", "POST", "/gorev", acts.refusal(Refusal.AWAITING_APPROVAL)),
        Fault("lost lease", "POST", "/gorev", acts.lose_answer),
        Fault("encoded", "GET", "/adaptor", acts.encoded),
        Fault("other bytes", "GET", "/adaptor", acts.other_bytes),
        Fault("cut", "GET", "/veri", acts.cut),
        Fault("lost announcement", "PUT", "/sonuc", acts.lose_answer),
        Fault("lost verdict", "PATCH", "/sonuc?gorev=stage-3", acts.lose_answer),
    ]


def played(rehearsal: Rehearsal) -> Played:
    """The run, played once: lease 1 is no longer wanted, 2 is refused, 4 takes no chunks."""
    if "played" not in rehearsal.scenes:
        stage = Stage(
            rehearsal.fmt,
            faults=trouble(),
            unwanted=frozenset({1}),
            refused=frozenset({2}),
            whole=frozenset({4}),
            registers=True,
        )
        rehearsal.scenes["played"] = play(rehearsal, stage)
    scene = rehearsal.scenes["played"]
    assert isinstance(scene, Played)
    return scene


def play(rehearsal: Rehearsal, stage: Stage) -> Played:
    """A run seen to its end, or until the worker ends or patience does."""
    with serving(stage):
        actor = rehearsal.start(stage)
        actor.wait(lambda: bool(stage.over_told), rehearsal.patience)
        if stage.over_told:
            until = stage.over_told[0] + SILENCE_S
            actor.wait(lambda: time.monotonic() > until, 2 * SILENCE_S)
        scene = Played(stage, actor.ended, actor.last_words)
        actor.kill()
    return scene


def demand_taken(scene: Played) -> None:
    """Raises Failed unless the worker delivered at least one good result."""
    if not scene.taken:
        raise Failed(f"no result was delivered; {scene.last_words}")
