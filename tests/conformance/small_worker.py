"""A worker in one file that keeps to the protocol and does not train: its results are the
snapshot's numbers and noise drawn from the task's seed.

python small_worker.py URL FOLDER
"""

import base64
import hashlib
import itertools
import json
import random
import secrets
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import requests
from pydantic import ValidationError
from urllib3.exceptions import HTTPError

from worker_client.conformance import weights
from worker_client.conformance.check import Failed
from worker_client.contract import LEASE_KEY_HEADER, MAX_JSON_BYTES, wire
from worker_client.contract.encodings import CODECS
from worker_client.contract.formats import AdapterFormat, UnknownFormat, load_format
from worker_client.contract.recipe import IGNORED_LABEL

BASE, FOLDER = sys.argv[1], Path(sys.argv[2])
WAIT = FOLDER / "not-before"
SESSION = requests.Session()
SESSION.headers.update({"User-Agent": "small-worker/1", "X-Modelen-Protokol": "1"})
SESSION.headers["Accept-Encoding"] = "identity"
FAILURES = 0
NAME, TOKEN = "small-worker", wire.Registration.draw_token()
JOBS = ["egit", "dogrula", "olc"]
HELD: dict[int, bytes] = {}  # the newest snapshot by its number
DELIVERED: list[wire.Task] = []  # whose fate is open
LEFT_OUT: dict[str, np.ndarray] = {}  # of the deltas so far, by their encoding


class Dropped(Exception):
    """The task leads to nothing; the next one."""


def pause(seconds: float) -> None:
    WAIT.write_text(str(time.time() + seconds))
    sleep_out()


def sleep_out() -> None:
    if WAIT.exists():
        time.sleep(max(0.0, float(WAIT.read_text()) - time.time()))


def failed(wait: float = 0.0) -> None:
    global FAILURES
    FAILURES += 1
    pause(max(wait, random.uniform(0, min(300, 2**FAILURES))))


def read(reply: requests.Response, limit: int, into: bytearray) -> None:
    """At most ``limit`` bytes of the body, kept as far as they came."""
    while data := reply.raw.read1(65536, decode_content=False):
        into += data
        if len(into) > limit:
            reply.close()
            raise requests.RequestException("longer than it may be")


def call(method: str, path: str, limit: int = MAX_JSON_BYTES, **options: Any) -> requests.Response:
    """One answer that is no passing trouble; its body is in ``options['into']`` if given."""
    global FAILURES
    into = options.pop("into", None)
    while True:
        sleep_out()
        body = bytearray()
        try:
            with SESSION.request(
                method, BASE + path, allow_redirects=False, stream=True, timeout=30, **options
            ) as reply:
                wait = float(reply.headers.get("Retry-After", 0))
                passing = reply.status_code in (429, 503) or reply.status_code >= 500
                if "X-Modelen-Protokol" not in reply.headers or passing:
                    failed(wait)
                    continue
                if 300 <= reply.status_code < 400:
                    sys.exit("led elsewhere")
                read(reply, limit, body if into is None else into)
        except (requests.RequestException, HTTPError, OSError) as error:
            if into is not None:
                raise Dropped(str(error)) from None
            failed()
            continue
        FAILURES = 0
        reply._content = bytes(body)
        return reply


def fetch(ref: wire.FileRef) -> bytes:
    """The file, range by range; what came before a break is kept."""
    part = bytearray()
    while True:
        last = min(len(part) + ref.chunk_bytes, ref.size) - 1
        headers = {"Range": f"bytes={len(part)}-{last}", "If-Range": f'"{ref.sha256}"'}
        try:
            reply = call("GET", ref.path, ref.size, headers=headers, into=part)
        except Dropped:
            if len(part) > ref.size:
                part.clear()
            failed()
            continue
        if reply.status_code != 206 or "Content-Encoding" in reply.headers:
            part.clear()
            failed()
        elif len(part) == ref.size:
            if hashlib.sha256(part).hexdigest() == ref.sha256:
                return bytes(part)
            part.clear()
            failed()


def check(task: wire.Task) -> None:
    """Exits where the task is none for this worker."""
    try:
        fmt = load_format(task.format)
    except UnknownFormat as error:
        sys.exit(str(error))
    known = (task.training.recipe, task.base_model)
    if known != ("v1", fmt.base_ref):
        sys.exit(f"unknown: {known}")
    if task.job.value not in JOBS or task.training.encoding not in ("ham", *CODECS):
        sys.exit(f"not offered: {task.job.value}, {task.encoding}")
    if not 0 < task.snapshot.size - fmt.data_bytes <= 2**20:
        sys.exit(f"a snapshot of {task.snapshot.size} bytes")


def beat(task: wire.Task, step: int, **more: str) -> None:
    body = {"anahtar": task.lease_key, "adim": step} | more
    reply = call("POST", f"/gorev/{task.lease_id}/nabiz", json=body)
    if reply.status_code == 200 and not reply.json()["devam"]:
        raise Dropped("no longer wanted")


def caught_up(task: wire.Task) -> bytes | None:
    """The snapshot by its update, or None where that leads elsewhere."""
    ref, held = task.delta, HELD.get(task.round - 1)
    if ref is None or held is None or ref.encoding not in CODECS:
        return None
    before, file = weights.read_weights(held, "what is held"), fetch(ref)
    try:
        data, _ = weights.read_delta(file, "the update")
        moved = before.moved(weights.decode(CODECS[ref.encoding], data, before.values.size))
    except Failed:
        return None
    whole = moved.file({"bicim": task.format, "format": "pt", "tur": str(task.round)})
    return whole if hashlib.sha256(whole).hexdigest() == task.snapshot.sha256 else None


def measure(task: wire.Task) -> bytes:
    """The same loss for whatever is to be measured."""
    assert task.data is not None and task.candidates is not None
    header = weights.read_file(fetch(task.data), "the held-out data")
    rows, length = header.tensors["input_ids"].shape
    told = {"token": rows * (length - 1), "bayt": int(header.metadata.get("bayt", "0"))}
    return json.dumps({"kayip": [5.0] * len(task.candidates)} | told).encode()


def read_targets(work: wire.TrainingFields, shard: bytes) -> int:
    """How many tokens of a row are to be predicted; exits where the shard is none for the task."""
    header, fmt = weights.read_file(shard, "the shard"), load_format(work.format)
    assert isinstance(fmt, AdapterFormat), "the stage's format has a base model"
    if header.metadata.get("belirtec_sha256") != fmt.base_model.tokenizer_sha256:
        sys.exit("tokens of another tokenizer")
    entry = header.tensors["input_ids"]
    if entry.shape[1] != work.seq_len:
        sys.exit(f"rows of {entry.shape[1]}")
    ids = np.frombuffer(shard[entry.start : entry.stop], "<i4")
    if not 0 <= ids.min() <= ids.max() < fmt.base_model.vocab_size:
        sys.exit("ids of no token")
    goal = header.tensors["labels" if work.mode == wire.Mode.SFT else "input_ids"]
    first_row = np.frombuffer(shard[goal.start : goal.stop], "<i4")[: work.seq_len]
    return int((first_row[1:] != IGNORED_LABEL).sum())


def make(task: wire.Task) -> bytes:
    if task.job == wire.Job.EVALUATE:
        return measure(task)
    work = task.training
    snapshot = caught_up(task) or fetch(work.snapshot)
    HELD.clear()
    HELD[work.round] = snapshot
    start = weights.read_weights(snapshot, "the snapshot")
    targets = read_targets(work, fetch(work.data)) if work.data else 0
    seed = work.seed + (work.mode == wire.Mode.SFT)
    step = weights.noise(start.values.size, 1e-3, seed)
    names = ("kayip_ilk", "kayip_son", "token", "sure_s", "cihaz", "dtype", "surum")
    told = dict.fromkeys(names, "1") | {"gorev": task.lease_id, "tur": str(work.round)}
    told["token"] = str(targets * work.batch_size * work.inner_steps)
    if codec := CODECS.get(work.encoding):
        step = step + LEFT_OUT.get(codec.id, 0)
        data = weights.encode(codec, step)
        if codec.feeds_back:
            LEFT_OUT[codec.id] = step - weights.decode(codec, data, step.size)
        return weights.delta_file(codec.id, data, told)
    return start.moved(step).file(told)


def ask_fates(number: int) -> None:
    """Forget what was left out if a delta of an earlier round than ``number`` was not merged."""
    for task in [task for task in DELIVERED if task.round < number]:
        key = {LEASE_KEY_HEADER: task.lease_key}
        fate = call("GET", f"/sonuc?gorev={task.lease_id}", headers=key).json().get("durum")
        if fate not in ("bekliyor", "birlesti", "kullanildi"):
            LEFT_OUT.clear()
        if fate != "bekliyor":
            DELIVERED.remove(task)


def deliver(task: wire.Task, file: bytes) -> None:
    digest = hashlib.sha256(file)
    path, key = f"/sonuc?gorev={task.lease_id}", {LEASE_KEY_HEADER: task.lease_key}
    announced = {"boyut": len(file), "sha256": digest.hexdigest()}
    while True:
        reply = call("PUT", path, json=announced, headers=key)
        if reply.status_code == 405:
            told = {"Content-Digest": f"sha-256=:{base64.b64encode(digest.digest()).decode()}:"}
            call("POST", path, data=file, headers=key | told)
            return
        if reply.status_code >= 400 or "kabul" in reply.json():
            return
        state = reply.json()
        piece = file[state["ofset"] : state["ofset"] + state["parca_boyut"]]
        told = {"Upload-Offset": str(state["ofset"])}
        reply = call("PATCH", path, data=piece, headers=key | told)
        if reply.status_code == 200 or (reply.status_code >= 400 and not reply.json()["tekrar"]):
            return


def lease(sequence: int) -> wire.Task | None:
    """A task, or None when the run is over."""
    request_id = secrets.token_hex(16)
    asked = {"isci": NAME, "istek": request_id, "sira": sequence, "isler": JOBS}
    asked |= {"kodlama": ["ham", *CODECS]} | ({"elde": max(HELD)} if HELD else {})
    while True:
        reply = call("POST", "/gorev", json=asked)
        if reply.status_code == 204:
            pause(float(reply.headers["Retry-After"]))
        elif reply.status_code == 200:
            try:
                return wire.Task.model_validate_json(reply.content)
            except ValidationError as error:
                sys.exit(wire.explain(error))
        elif reply.json().get("tekrar"):
            pause(0.5)
        else:
            return None


def register() -> None:
    if call("POST", "/kayit", json={"isci": NAME, "belirtec": TOKEN}).status_code == 201:
        SESSION.headers["Authorization"] = f"Bearer {TOKEN}"


def work(task: wire.Task) -> None:
    check(task)
    ask_fates(task.round)
    beat(task, 0)
    file = make(task)
    beat(task, task.inner_steps, ozet=hashlib.sha256(file).hexdigest())
    deliver(task, file)
    DELIVERED.append(task)


def main() -> None:
    call("GET", "/bilgi")
    register()
    numbers = itertools.count()
    while task := lease(next(numbers)):
        try:
            work(task)
        except Dropped:
            continue


if __name__ == "__main__":
    main()
