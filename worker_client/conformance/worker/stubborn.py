"""A worker's patience: how often it asks, and what it remembers over a restart."""

import time

from worker_client.conformance.check import NotObservable, demand
from worker_client.conformance.worker import acts
from worker_client.conformance.worker.checks import worker as check
from worker_client.conformance.worker.rehearsal import Rehearsal
from worker_client.conformance.worker.serving import serving
from worker_client.conformance.worker.stage import Fault, Stage

DOWN_S = 8.0
# 1 s doubling with full jitter: about four in this time, and seldom more than ten.
MOST_REQUESTS = 30
RESTART_WAIT_S = 8
START_S = 60.0


@check("back-off", "1 s doubling to 5 min, full jitter")
def back_off(rehearsal: Rehearsal) -> str:
    down = [Fault("down", method, "/", acts.page) for method in ("GET", "POST") for _ in range(500)]
    stage = Stage(rehearsal.fmt, faults=down)
    with serving(stage):
        actor = rehearsal.start(stage)
        demand(actor.wait(lambda: bool(stage.heard), START_S), f"no request; {actor.last_words}")
        actor.wait(lambda: False, DOWN_S)
        gave_up, words = actor.ended, actor.last_words
        actor.kill()
    count = len(stage.heard)
    demand(not gave_up, f"it gave up by itself; {words}")
    demand(
        count <= MOST_REQUESTS, f"{count} requests in {DOWN_S:.0f} s to a coordinator in trouble"
    )
    return f"{count} requests in {DOWN_S:.0f} s"


@check("wait-over-restart", "A worker waits at least that long, remembers it over a restart")
def wait_over_restart(rehearsal: Rehearsal) -> str:
    if not rehearsal.keeps_folder:
        raise NotObservable("say with {dir} in the command where it keeps what outlives a restart")
    fault = Fault("busy", "POST", "/gorev", acts.busy(RESTART_WAIT_S))
    stage = Stage(rehearsal.fmt, faults=[fault], with_about=False)
    with serving(stage):
        actor = rehearsal.start(stage)
        demand(actor.wait(lambda: bool(fault.answered), START_S), f"no request; {actor.last_words}")
        time.sleep(1.0)  # for the answer to be read and written down
        actor.kill()
        count = len(stage.heard)
        actor = rehearsal.start(stage, actor.folder)
        heard = actor.wait(lambda: len(stage.heard) > count, RESTART_WAIT_S + START_S)
        words = actor.last_words
        actor.kill()
    demand(heard, f"after a restart no request came; {words}")
    waited = stage.heard[count].at - fault.answered
    demand(waited >= RESTART_WAIT_S - 0.05, f"started again it asked after {waited:.1f} s")
    return f"after {waited:.1f} s"
