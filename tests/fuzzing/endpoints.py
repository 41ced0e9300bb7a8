"""Fuzz target: every protocol endpoint, through Django, with the database and files behind it."""

import base64
import hashlib
import random
from collections.abc import Callable
from ipaddress import ip_address
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import quote

from coordination.models import Lease, Unit
from coordination.rounds.reconcile import reconcile
from coordination.storage import result_vector, snapshot_vector
from tests.coordination.making import WorkerOf, make_run, vector, write_weights
from tests.fuzzing import files, judging, messages, rules, wires
from tests.fuzzing.asking import (
    HEADERS,
    RANGES,
    TEXTS,
    header_text,
    judge_answer,
    judge_part,
    raise_if,
)
from tests.fuzzing.measuring import Measuring
from tests.fuzzing.preparing import Preparing
from tests.fuzzing.running import Wrong
from worker_client.contract.encodings import CODECS

ENCODING = "int8"
RUN: dict[str, Any] = {
    "encoding": ENCODING,
    "downlink": "bf16",
    "rounds": 10**6,
    "shards": 20,
    "min_results": 1,  # whatever the screens leave out
    "lease_seconds": 86_400,
    "lease_max_seconds": 86_400,
    "max_leases_per_worker": 1000,
    "max_leases_per_address": 10_000,
}
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PURGE")
FILES = ("adaptor", "fark", "veri", "ayrik", "aday", "ham_metin", "belirtec")
PRIVATE = ("makbuz", "gorev", *FILES, "sonuc", "gorev/x/nabiz")
PATHS = ("", "bilgi", "durum", "kayit", *PRIVATE, "x")


class Endpoints:
    """No 5xx, errors as the protocol words them, and a result taken only if it is valid."""

    name = "endpoints"

    def __init__(self, folder: Path) -> None:
        self.run = make_run(folder, "fuzzed", **RUN)
        self._worker = WorkerOf(self.run, "fuzzer")
        self._worker.http.raise_request_exception = False
        self._waiting = WorkerOf(make_run(folder, "closed", open_to_all=False), "waiting")
        self._waiting.register()
        self._numbers = count()
        self._task: dict[str, Any] = {}
        self._measuring, self._preparing = Measuring(folder), Preparing(folder)
        self._finish_a_round(folder)

    def play(self, draw: random.Random) -> str:
        self._task = self._task or self._lease()
        kinds: tuple[Callable[[random.Random], str], ...] = (
            self._gorev,
            self._nabiz,
            self._kayit,
            self._makbuz,
            self._file,
            self._announce,
            self._chunk,
            self._whole,
            self._measuring.play,
            self._preparing.play,
            self._durum,
            self._closed,
            self._anything,
        )
        return draw.choice(kinds)(draw)

    def _finish_a_round(self, folder: Path) -> None:
        """So that there is a way from one snapshot to the next."""
        fmt = self.run.manifest
        moved = vector(1, fmt) + vector(2, fmt, 0.001)
        body = write_weights(folder / "honest", fmt, moved).read_bytes()
        for _ in range(self.run.shards):
            assert self._deliver(self._lease(), body).status_code == 200
        reconcile()

    def _lease(self, *encodings: str) -> dict[str, Any]:
        """A task of somebody new, whom no screen has barred and whose quota is whole; when there
        are none left, the round is merged."""
        number = next(self._numbers)
        worker = WorkerOf(self.run, f"fuzzer-{number}", str(ip_address(number + 2**24)))
        answer = worker.ask(kodlama=["ham", *encodings])
        if answer.status_code == 204:
            self._let_go()
            reconcile()
            answer = worker.ask(kodlama=["ham", *encodings])
        assert answer.status_code == 200, answer.content
        return answer.json()

    def _let_go(self) -> None:
        """Free what cases leased and left; the task they share among it."""
        Lease.objects.filter(state=Lease.State.LIVE).delete()
        Unit.objects.filter(state=Unit.State.LEASED).update(state=Unit.State.FREE)
        self._task = {}

    # --- One request ------------------------------------------------------------------------------

    def _send(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        draw: random.Random | None = None,
        **headers: str,
    ) -> Any:
        sent = {"X-Modelen-Anahtar": self._task.get("anahtar", "")} | {
            name.replace("_", "-"): value for name, value in headers.items()
        }
        if draw and draw.random() < 0.3:
            sent[draw.choice(HEADERS)] = header_text(draw.choice((*TEXTS, *RANGES)))
        answer = self._worker.http.generic(
            method,
            f"/c/fuzzed/{path}",
            body,
            content_type=headers.get("Content_Type", "application/json"),
            headers=sent,
        )
        judge_answer(method, answer)
        return answer

    def _gorev(self, draw: random.Random) -> str:
        example = wires.LEASE_REQUEST | {"istek": f"{draw.getrandbits(128):032x}"}
        answer = self._send("POST", "gorev", messages.mutated(example, draw), draw)
        if answer.status_code == 200:
            if fault := rules.fault_of_task(answer.json()):
                raise Wrong(f"a lease was given whose {fault}")
            Lease.objects.filter(token=answer.json()["gorev"]).delete()
            self.run.round_set.latest("number").unit_set.filter(state="leased").exclude(
                lease__state="live"
            ).update(state="free")
        return f"gorev {answer.status_code}"

    def _nabiz(self, draw: random.Random) -> str:
        task = self._lease() if draw.random() < 0.1 else self._task
        example = wires.PROGRESS | {"anahtar": task["anahtar"]}
        del example["ozet"]  # else it would bind what is delivered later
        token = task["gorev"] if draw.random() < 0.9 else quote(draw.choice(TEXTS[1:]))
        body = messages.mutated(example, draw)
        if b"ozet" in body:
            return "nabiz left out"
        answer = self._send("POST", f"gorev/{token}/nabiz", body, draw)
        return f"nabiz {answer.status_code}"

    def _kayit(self, draw: random.Random) -> str:
        example = wires.REGISTRATION | {"isci": f"w{draw.randrange(50)}"}
        answer = self._send("POST", "kayit", messages.mutated(example, draw), draw)
        return f"kayit {answer.status_code}"

    def _makbuz(self, draw: random.Random) -> str:
        token = wires.REGISTRATION["belirtec"] if draw.random() < 0.5 else draw.choice(TEXTS)
        query = f"?once={quote(draw.choice(TEXTS))}" if draw.random() < 0.5 else ""
        bearer = header_text(f"Bearer {token}")
        answer = self._send("GET", f"makbuz{query}", draw=draw, Authorization=bearer)
        if answer.status_code == 200 and (fault := rules.fault(answer.json(), rules.RECEIPTS)):
            raise Wrong(f"/makbuz: {fault}")
        return f"makbuz {answer.status_code}"

    def _durum(self, draw: random.Random) -> str:
        query = f"?once={quote(draw.choice(TEXTS))}" if draw.random() < 0.5 else ""
        answer = self._send("GET", f"durum{query}", draw=draw)
        if answer.status_code == 200 and (fault := rules.fault(answer.json(), rules.STATUS)):
            raise Wrong(f"/durum: {fault}")
        return f"durum {answer.status_code}"

    def _file(self, draw: random.Random) -> str:
        """A part of a file is that part of the file."""
        now = str(self._task["tur"])
        files = (("adaptor?tur=", now), ("fark?tur=", now), ("veri?parca=", "0"))
        path, number = draw.choice(files)
        number = number if draw.random() < 0.8 else quote(draw.choice(TEXTS))
        method = draw.choice(("GET", "GET", "HEAD"))
        answer = self._send(method, path + number, draw=draw, Range=draw.choice(RANGES))
        if answer.status_code in (200, 206) and method == "GET":
            judge_part(answer)
        return f"{path.split('?')[0]} {answer.status_code}"

    def _announce(self, draw: random.Random) -> str:
        example = {"boyut": draw.choice((1, 1000, 40_000)), "sha256": draw.randbytes(32).hex()}
        body = messages.mutated(example, draw)
        answer = self._send("PUT", self._sonuc, body, draw)
        return f"announce {answer.status_code}"

    def _chunk(self, draw: random.Random) -> str:
        """A chunk, somewhere, of something that was announced or not."""
        have = self._send("HEAD", self._sonuc).headers.get("Upload-Offset", "0")
        offset = draw.choice((have, have, *TEXTS))
        body = draw.randbytes(draw.choice((0, 1, 100, 1000)))
        headers = {
            "Upload_Offset": header_text(offset),
            "Content_Type": "application/octet-stream",
        }
        answer = self._send("PATCH", self._sonuc, body, draw, **headers)
        if answer.status_code == 200:
            raise Wrong("random bytes were taken for a result")
        return f"chunk {answer.status_code}"

    def _whole(self, draw: random.Random) -> str:
        """A file with its right digest: taken if and only if it is valid."""
        task = self._lease(*draw.choice(([], [ENCODING])))
        fmt, start, encoding = self.run.manifest, self._vector_of(task), task["kodlama"]
        if encoding == ENCODING:
            body = files.mutated_delta(CODECS[encoding], fmt.parameters, draw)
        else:
            body = files.mutated(fmt, start, draw)
        answer = self._deliver(task, body)
        self._judge_result(answer, body, start, task)
        return f"{encoding} result {answer.status_code}"

    def _deliver(self, task: dict[str, Any], body: bytes) -> Any:
        digest = base64.b64encode(hashlib.sha256(body).digest()).decode()
        headers = {
            "X_Modelen_Anahtar": task["anahtar"],
            "Content_Digest": f"sha-256=:{digest}:",
            "Content_Type": "application/octet-stream",
        }
        return self._send("POST", f"sonuc?gorev={task['gorev']}", body, **headers)

    def _judge_result(self, answer: Any, body: bytes, start: Any, task: dict[str, Any]) -> None:
        fmt, limit = self.run.manifest, self.run.norm_limit
        near = False
        if task["kodlama"] == ENCODING:
            right = judging.judge_delta(body, ENCODING, start, limit)
        else:
            right = judging.judge(body, fmt, start, limit)
            near = judging.is_near(body, fmt, start, limit)
        taken = answer.status_code == 200 and answer.json()["kabul"] is True
        if taken != (right is not None) and not near:
            raise Wrong(f"{'valid' if right is not None else 'invalid'}: {answer.content!r}")
        if taken and right is not None:
            stored = result_vector(Lease.objects.get(token=task["gorev"]).result_set.get())
            if stored.read(0, stored.count).tobytes() != right.tobytes():
                raise Wrong("other weights were stored than the file holds")

    def _vector_of(self, task: dict[str, Any]) -> Any:
        snapshot = snapshot_vector(self.run.snapshot_set.get(number=task["tur"]))
        return snapshot.read(0, snapshot.count)

    def _closed(self, draw: random.Random) -> str:
        """Nobody who waits for approval, or shows no token, gets anything out of a closed run."""
        bearer = f"Bearer {draw.choice((self._waiting.token, *TEXTS))}"
        key = draw.choice((self._task["anahtar"], *TEXTS))
        body = messages.mutated(draw.choice((wires.LEASE_REQUEST, wires.PROGRESS)), draw)
        method = draw.choice(("GET", "HEAD", "POST", "PUT", "PATCH"))
        answer = self._waiting.http.generic(
            method,
            f"/c/closed/{draw.choice(PRIVATE)}?gorev={self._task['gorev']}&tur=1&parca=0",
            body,
            content_type="application/json",
            headers={"Authorization": header_text(bearer), "X-Modelen-Anahtar": header_text(key)},
        )
        judge_answer(method, answer)
        raise_if(answer.status_code < 400 and not _is_receipts(answer), "a closed run is open")
        return f"closed {answer.status_code}"

    def _anything(self, draw: random.Random) -> str:
        path = draw.choice(PATHS) or "gorev/x"
        if draw.random() < 0.5:
            path += f"/{quote(draw.choice(TEXTS))}"
        name = draw.choice(("gorev", "tur", "parca", "once"))
        query = f"{name}={quote(draw.choice(TEXTS))}"
        body = messages.mutated(wires.TASK, draw) if draw.random() < 0.5 else b""
        answer = self._send(draw.choice(METHODS), f"{path}?{query}", body, draw)
        return f"anything {answer.status_code}"

    @property
    def _sonuc(self) -> str:
        return f"sonuc?gorev={self._task['gorev']}"


def _is_receipts(answer: Any) -> bool:
    return answer.wsgi_request.path.endswith("/makbuz")
