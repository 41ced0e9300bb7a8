"""What every request and every result of a worker has to be."""

import json
import re

import numpy as np
from pydantic import ValidationError

from worker_client.conformance import weights
from worker_client.conformance.check import NotObservable, demand
from worker_client.conformance.worker.checks import worker as check
from worker_client.conformance.worker.rehearsal import Rehearsal
from worker_client.conformance.worker.scene import demand_taken, played
from worker_client.conformance.worker.stage import CHUNK
from worker_client.contract import LEASE_KEY_HEADER, MAX_JSON_BYTES, PROTOCOL_HEADER, wire
from worker_client.contract.recipe import largest_update_norm

LR, INNER_STEPS = 0.001, 2


@check("run-to-end", "A worker keeps the result until it knows.")
def run_to_end(rehearsal: Rehearsal) -> str:
    scene = played(rehearsal)
    demand(len(scene.taken) == 2, f"{len(scene.taken)} of 2 results came; {scene.last_words}")
    return f"{len(scene.stage.heard)} requests, {len(scene.stage.leases)} leases"


@check("headers", "Requests carry `User-Agent` and `X-Modelen-Protokol: 1` (absent means 1)")
def headers(rehearsal: Rehearsal) -> None:
    heard = played(rehearsal).stage.heard
    demand(heard, "no request came")
    nameless = [h for h in heard if not h.headers.get("User-Agent")]
    demand(not nameless, f"{len(nameless)} requests without User-Agent, as {nameless[:1]}")
    other = [h for h in heard if h.headers.get(PROTOCOL_HEADER, "1") != "1"]
    demand(not other, f"{PROTOCOL_HEADER} is another one in {other[:1]}")


@check("lease-request", "only `isci` and `istek` are required")
def lease_request(rehearsal: Rehearsal) -> None:
    asked = played(rehearsal).stage.requests("POST", "/gorev")
    asked = [h for h in asked if h.place == "/gorev"]
    demand(asked, "no task was asked for")
    for heard in asked:
        demand(len(heard.body) <= MAX_JSON_BYTES, f"a request of {len(heard.body)} bytes")
        try:
            wire.LeaseRequest.model_validate_json(heard.body)
        except ValidationError as error:
            demand(False, f"POST /gorev: {wire.explain(error)}")


@check("fresh-request", "32 hex digits that the worker draws for each lease request")
def fresh_request(rehearsal: Rehearsal) -> None:
    leases = played(rehearsal).stage.leases
    demand(leases, "no task was asked for")
    ids = [lease.request_id for lease in leases]
    demand(len(set(ids)) == len(ids), "one istek for two leases")
    odd = [one for one in ids if not re.fullmatch("[0-9a-f]{32}", one)]
    demand(not odd, f"istek is {odd[:1]}")


@check("strict-coordinator", "All methods need `X-Modelen-Anahtar`.")
def strict_coordinator(rehearsal: Rehearsal) -> None:
    problems = played(rehearsal).stage.problems
    demand(not problems, f"a strict coordinator heard: {'; '.join(problems[:3])}")


@check("key-kept", "secret that proves the lease")
def key_kept(rehearsal: Rehearsal) -> None:
    heard = played(rehearsal).stage.heard
    shown = [h for h in heard if LEASE_KEY_HEADER in h.headers and h.place != "/sonuc"]
    demand(not shown, f"the key was shown where none is asked for, as at {shown[:1]}")


@check(
    "identity",
    "Files are sent unencoded (`Accept-Encoding: identity`; an encoded answer is refused).",
)
def identity(rehearsal: Rehearsal) -> None:
    files = [h for h in played(rehearsal).stage.heard if h.place in ("/adaptor", "/veri")]
    demand(files, "no file was fetched")
    asked = {h.headers.get("Accept-Encoding", "(none)") for h in files}
    demand(asked == {"identity"}, f"Accept-Encoding of files: {', '.join(sorted(asked))}")


@check("ranges", "A worker fetches in ranges of `parca_boyut` into a partial file")
def ranges(rehearsal: Rehearsal) -> str:
    heard = [h for h in played(rehearsal).stage.heard if h.place in ("/adaptor", "/veri")]
    spans = [re.fullmatch(r"bytes=(\d+)-(\d+)", h.headers.get("Range", "")) for h in heard]
    demand(heard and all(spans), "a file was asked for without a Range")
    longest = max(int(span[2]) - int(span[1]) + 1 for span in spans if span)
    demand(longest <= CHUNK, f"a Range of {longest} bytes where parca_boyut is {CHUNK}")
    return f"{len(spans)} ranges, the longest of {longest} bytes"


@check("result-file", "id of the tensor manifest that snapshot and result must have")
def result_file(rehearsal: Rehearsal) -> None:
    scene = played(rehearsal)
    demand_taken(scene)
    start = weights.read_weights(scene.stage.files["/adaptor"], "the snapshot").parts()
    limit = largest_update_norm(LR, INNER_STEPS, rehearsal.fmt.parameters)
    for lease in scene.taken:
        made = weights.read_weights(lease.results[0], "the result")
        found = {name: shape for name, _, shape in made.specs}
        wanted = {spec.name: spec.shape for spec in rehearsal.fmt.tensors}
        demand(found == wanted, "the result's tensors are not the format's")
        demand(np.isfinite(made.values).all(), "the result has numbers that are not finite")
        parts = made.parts()
        moved = sum(float(np.square(parts[n] - start[n], dtype=np.float64).sum()) for n in start)
        demand(
            0 < moved**0.5 <= limit, f"the result moved {moved**0.5:g}, at most {limit:g} is honest"
        )


@check("result-metadata", "Metrics travel in the file's `__metadata__` (string to string)")
def result_metadata(rehearsal: Rehearsal) -> None:
    scene = played(rehearsal)
    demand_taken(scene)
    for lease in scene.taken:
        told = weights.read_file(lease.results[0], "the result").metadata
        found = (told.get("gorev"), told.get("tur"))
        demand(found == (lease.id, str(lease.round)), f"gorev and tur in the file are {found}")
        lacking = {"kayip_ilk", "kayip_son", "token", "sure_s", "dtype", "surum"} - told.keys()
        demand(not lacking, f"the file lacks {', '.join(sorted(lacking))}")


@check(
    "promise",
    "`ozet` is the finished result's sha256, told before the upload",
)
def promise(rehearsal: Rehearsal) -> None:
    scene = played(rehearsal)
    demand_taken(scene)
    told = [(lease, ozet) for lease in scene.taken for ozet in lease.commitments]
    if not told:
        raise NotObservable("the worker tells no ozet, which is optional")
    for lease, ozet in told:
        demand(ozet == weights.sha256(lease.results[0]), f"{lease.id}: another file than promised")


@check("whole-file", "A coordinator without this: 405, and the worker sends the file whole.")
def whole_file(rehearsal: Rehearsal) -> None:
    scene = played(rehearsal)
    sent = scene.stage.requests("POST", "/sonuc")
    if len(scene.stage.leases) < 4:
        raise NotObservable(f"no fourth lease was asked for; {scene.last_words}")
    demand(sent, "PUT was answered 405, and no POST came")
    kinds = {h.headers.get("Content-Type", "").split(";")[0] for h in sent}
    demand("multipart/form-data" not in kinds, "the file came as a form")


@check("over", "410 `bitti`: the run is over")
def over(rehearsal: Rehearsal) -> str:
    scene = played(rehearsal)
    if not scene.stage.over_told:
        raise NotObservable(f"it never came to the end of the run; {scene.last_words}")
    later = len(scene.stage.over_told) - 1
    demand(not later, f"after 410 bitti it asked {later} more times")
    return "it ended" if scene.ended else "it asks no more"


@check("json", "JSON bodies are UTF-8, at most 64 KiB.")
def json_bodies(rehearsal: Rehearsal) -> None:
    for heard in played(rehearsal).stage.heard:
        if heard.headers.get("Content-Type", "").startswith("application/json"):
            demand(len(heard.body) <= MAX_JSON_BYTES, f"{heard} is longer")
            demand(isinstance(json.loads(heard.body.decode()), dict), f"{heard} is no object")
