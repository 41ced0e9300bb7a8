"""How a worker owns its pseudonym."""

import json
import re

from worker_client.conformance.check import NotObservable, demand
from worker_client.conformance.worker import acts
from worker_client.conformance.worker.checks import worker as check
from worker_client.conformance.worker.rehearsal import Rehearsal
from worker_client.conformance.worker.scene import Played, played
from worker_client.conformance.worker.serving import serving
from worker_client.conformance.worker.stage import Fault, Stage
from worker_client.contract.errors import Refusal

BLOCKED_S = 5.0


def registered(rehearsal: Rehearsal) -> tuple[Played, str]:
    """The scene and the secret; raises NotObservable where the worker registers no name."""
    scene = played(rehearsal)
    if not scene.stage.registrations:
        raise NotObservable("it registers no name, which is optional")
    return scene, str(scene.stage.registrations[0].get("belirtec"))


@check("register-secret", "the secret drawn by the worker (at least 192 bits")
def register_secret(rehearsal: Rehearsal) -> None:
    _, token = registered(rehearsal)
    fits = re.fullmatch("mwk_[A-Za-z0-9_-]{32,128}", token)
    demand(fits, f"a secret of {len(token)} characters that is not mwk_ and 32 to 128 others")


@check("register-bearer", "From then on `Authorization: Bearer mwk_...`")
def register_bearer(rehearsal: Rehearsal) -> None:
    scene, token = registered(rehearsal)
    name = scene.stage.registrations[0].get("isci")
    for heard in scene.stage.requests("POST", "/gorev"):
        if heard.place == "/gorev" and heard.at > _registered_at(scene):
            asked = json.loads(heard.body).get("isci")
            demand(asked == name, f"{name} is registered, and {asked} asks for a task")
            shown = heard.headers.get("Authorization")
            demand(shown == f"Bearer {token}", "a task was asked for without the token")


def _registered_at(scene: Played) -> float:
    return scene.stage.requests("POST", "/kayit")[-1].at


@check(
    "sequence",
    "rises with every new `istek` of a pseudonym, and is the same when an `istek` is repeated.",
)
def sequence(rehearsal: Rehearsal) -> str:
    asked = [h for h in played(rehearsal).stage.requests("POST", "/gorev") if h.place == "/gorev"]
    told = [(body.get("istek"), body.get("sira")) for body in (json.loads(h.body) for h in asked)]
    if all(sira is None for _, sira in told):
        raise NotObservable("it sends no sira, which is optional")
    of_request = dict(told)
    demand(len(of_request) == len(set(told)), "one istek came with two sira")
    numbers = list(of_request.values())
    rises = all(a < b for a, b in zip(numbers, numbers[1:], strict=False))
    demand(rises, f"sira went {numbers[:8]}")
    return f"{numbers[0]} to {numbers[-1]}"


@check("blocked", "the worker takes no part in this run any more; `detail` says why")
def blocked(rehearsal: Rehearsal) -> str:
    fault = Fault("blocked", "POST", "/gorev", acts.refusal(Refusal.WORKER_BLOCKED))
    stage = Stage(rehearsal.fmt, faults=[fault])
    with serving(stage):
        actor = rehearsal.start(stage)
        actor.wait(lambda: bool(fault.answered), rehearsal.patience)
        actor.wait(lambda: len(stage.requests("POST", "/gorev")) > 1, BLOCKED_S)
        ended, words = actor.ended, actor.last_words
        actor.kill()
    if fault.heard is None:
        raise NotObservable(f"it never asked for a task; {words}")
    demand(len(stage.requests("POST", "/gorev")) == 1, "after isci_engelli it asked for a task")
    return "it ended" if ended else "it asks no more"
