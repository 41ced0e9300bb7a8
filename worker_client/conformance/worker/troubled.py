"""A worker among answers that get lost, broken lines, and coordinators that ask to wait."""

import json

from worker_client.conformance.check import NotObservable, demand
from worker_client.conformance.worker.checks import worker as check
from worker_client.conformance.worker.rehearsal import Rehearsal
from worker_client.conformance.worker.scene import WAIT_S, Played, demand_taken, played
from worker_client.conformance.worker.stage import Heard

PAGE = "An answer without `X-Modelen-Protokol` did not come from a coordinator"
TIMER_S = 0.05  # of slack, for clocks that tick apart


def demand_wait(scene: Played, name: str) -> str:
    """Raises Failed where the next request came earlier than was asked."""
    fault, later = scene.fault(name)
    demand(later, f"nothing was heard after it; {scene.last_words}")
    waited = later[0].at - fault.answered
    demand(waited >= WAIT_S - TIMER_S, f"it asked again after {waited:.2f} s, not {WAIT_S} s")
    return f"after {waited:.1f} s"


@check("wait-busy", "A worker waits at least that long")
def wait_busy(rehearsal: Rehearsal) -> str:
    return demand_wait(played(rehearsal), "busy")


@check("wait-nothing", "`429`, `503` and 204 carry `Retry-After` (seconds).")
def wait_nothing(rehearsal: Rehearsal) -> str:
    return demand_wait(played(rehearsal), "nothing")


@check("captive-portal", PAGE)
def captive_portal(rehearsal: Rehearsal) -> None:
    scene = played(rehearsal)
    _, later = scene.fault("page")
    demand(_asked(later), f"after a page in HTML no task was asked for again; {scene.last_words}")


@check("approval", "A worker obeys `tekrar` where it is there")
def approval(rehearsal: Rehearsal) -> None:
    scene = played(rehearsal)
    _, later = scene.fault("approval")
    demand(_asked(later), f"after 403 with tekrar: true no task was asked for; {scene.last_words}")


def _asked(heard: list[Heard]) -> list[str]:
    """The istek of each lease request."""
    return [json.loads(h.body).get("istek") for h in heard if h.place == "/gorev"]


@check("lost-lease", "repeats when it repeats the request")
def lost_lease(rehearsal: Rehearsal) -> None:
    scene = played(rehearsal)
    fault, later = scene.fault("lost lease")
    assert fault.heard is not None
    again = _asked(later)
    demand(again, f"no task was asked for again; {scene.last_words}")
    first = json.loads(fault.heard.body).get("istek")
    demand(again[0] == first, "after a lost answer another istek was drawn: a lease leaks")


@check("unwanted", 'or `{"devam": false}`: no longer wanted, stop.')
def unwanted(rehearsal: Rehearsal) -> None:
    stage = played(rehearsal).stage
    if not stage.requests("POST", "/gorev/stage-1/nabiz"):
        raise NotObservable("it sends no nabiz, which is optional")
    sent = [h for h in stage.heard if h.path.startswith("/sonuc?gorev=stage-1") and h.body]
    demand(not sent, "a result was delivered although devam: false was heard")


@check("encoded", "an encoded answer is refused")
def encoded(rehearsal: Rehearsal) -> None:
    _demand_fetched_again(played(rehearsal), "encoded", "/adaptor")


@check("wrong-digest", "uses nothing before digest and size agree")
def wrong_digest(rehearsal: Rehearsal) -> None:
    _demand_fetched_again(played(rehearsal), "other bytes", "/adaptor")


def _demand_fetched_again(scene: Played, name: str, place: str) -> None:
    _, later = scene.fault(name)
    again = [h for h in later if h.place == place]
    demand(again, f"the file was not fetched again; {scene.last_words}")
    first = again[0].headers.get("Range", "bytes=0-")
    demand(first.startswith("bytes=0-"), f"it went on with {first} after bytes that cannot be used")


@check("resume", "fetches in ranges of `parca_boyut` into a partial file")
def resume(rehearsal: Rehearsal) -> str:
    scene = played(rehearsal)
    fault, later = scene.fault("cut")
    assert fault.heard is not None
    again = [h for h in later if h.place == "/veri"]
    demand(again, f"a download that was cut was not taken up; {scene.last_words}")
    before, after = (_first_byte(h) for h in (fault.heard, again[0]))
    demand(after > before, f"cut within bytes from {before}, it went on from {after}")
    return f"from byte {after}"


def _first_byte(heard: Heard) -> int:
    first = heard.headers.get("Range", "bytes=0-").removeprefix("bytes=").split("-")[0]
    return int(first) if first.isdecimal() else 0


@check("refused-for-good", "whether the same request may succeed later")
def refused_for_good(rehearsal: Rehearsal) -> None:
    scene = played(rehearsal)
    lease = next((one for one in scene.stage.leases if one.number == 2 and one.results), None)
    if lease is None:
        raise NotObservable(f"no result came on the second lease; {scene.last_words}")
    address = f"/sonuc?gorev={lease.id}"
    bodies = [h for h in scene.stage.heard if h.path == address and h.method in ("POST", "PATCH")]
    bodies = [h for h in bodies if h.body]
    size = len(lease.results[0])
    sent = sum(len(h.body) for h in bodies)
    demand(sent <= size, f"a result refused for good was sent again ({sent} bytes of {size})")
    demand(len(scene.stage.leases) > 2, f"after a refusal no other task came; {scene.last_words}")


@check("lost-announcement", "(again, same values: 200)")
def lost_announcement(rehearsal: Rehearsal) -> None:
    scene = played(rehearsal)
    fault, later = scene.fault("lost announcement")
    assert fault.heard is not None
    again = [h for h in later if h.path == fault.heard.path]
    demand(again, f"after a lost answer the file was given up; {scene.last_words}")


@check("lost-verdict", "the same bytes count once")
def lost_verdict(rehearsal: Rehearsal) -> None:
    scene = played(rehearsal)
    fault, later = scene.fault("lost verdict")
    assert fault.heard is not None
    same = [
        h
        for h in later
        if h.path == fault.heard.path and h.method in ("PUT", "HEAD", "POST", "PATCH")
    ]
    demand(same, f"a lost verdict was not asked for again; {scene.last_words}")
    demand_taken(scene)
    several = [lease.id for lease in scene.stage.leases if len(lease.results) > 1]
    demand(not several, f"different bytes came on one lease: {several}")
