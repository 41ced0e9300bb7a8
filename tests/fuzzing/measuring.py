"""Requests of the job ``olc``, hostile in all but the lease; each case is undone afterwards."""

import hashlib
import json
import random
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

from coordination.clock import now
from coordination.models import Check, Evaluation, HeldOut, Lease, Unit, Worker
from tests.coordination.making import WorkerOf, make_run, vector, write_weights
from tests.fuzzing import messages, rules, wires
from tests.fuzzing.asking import (
    BINARY,
    LONG_S,
    RANGES,
    TEXTS,
    deliver,
    header_text,
    judge_answer,
    judge_part,
    raise_if,
    undone,
)
from tests.fuzzing.running import Wrong

MOST_BYTES = 64 * 1024


class Measuring:
    """A result under check waits to be measured by others than its author, and so does the first
    snapshot: losses are taken if and only if they are right, files served to whom they are for."""

    def __init__(self, folder: Path) -> None:
        fields: dict[str, Any] = {
            "lease_seconds": LONG_S,
            "lease_max_seconds": LONG_S,
            "round_seconds": LONG_S,
        }
        self.run = make_run(folder, "measured", languages=("en", "tr"), **fields)
        self._author = self._volunteer("author", "127.0.0.2")
        self._other = self._volunteer("other", "127.0.0.3")
        self._stranger = WorkerOf(self.run, "stranger", "127.0.0.4")
        self._stranger.http.raise_request_exception = False
        self._other.ask(isler=["olc"])
        always = {"last_seen_at": now() + timedelta(days=3650)}
        Worker.objects.filter(run=self.run).update(**always)
        self._trained = self._author.lease()
        deliver(self._author, self._trained, self._honest(folder))
        assert Check.objects.get(result__unit__round__run=self.run).state == Check.State.PENDING
        mine = Lease.objects.filter(unit__round__run=self.run, unit__job=Unit.Job.EVALUATE)
        mine.delete()
        Unit.objects.filter(round__run=self.run, state="leased").update(state="free")

    def _volunteer(self, name: str, address: str) -> WorkerOf:
        worker = WorkerOf(self.run, name, address)
        worker.http.raise_request_exception = False
        worker.register()
        return worker

    def _honest(self, folder: Path) -> bytes:
        fmt = self.run.manifest
        moved = vector(1, fmt) + vector(2, fmt, 0.001)
        return write_weights(folder / "honest", fmt, moved).read_bytes()

    def play(self, draw: random.Random) -> str:
        """The author is given a snapshot, anybody else the author's result."""
        asker = draw.choice((self._author, self._other, self._stranger))
        kinds: tuple[Callable[[WorkerOf, dict[str, Any], random.Random], str], ...] = (
            self._whole,
            self._chunks,
            self._file,
        )
        with undone():
            answer = asker.ask(isler=["olc"])
            raise_if(answer.status_code != 200, f"nothing to measure: {answer.content!r}")
            task = answer.json()
            raise_if(bool(fault := rules.fault_of_task(task)), f"a lease was given whose {fault}")
            wanted = 1 if asker is self._author else 6
            raise_if(len(task["aday"]) != wanted, f"{len(task['aday'])} candidates")
            return draw.choice(kinds)(asker, task, draw)

    # --- Answers ----------------------------------------------------------------------------------

    def _whole(self, asker: WorkerOf, task: dict[str, Any], draw: random.Random) -> str:
        body = self._losses(task, draw)
        answer = deliver(asker, task, body)
        self._judge(asker, answer, body, task)
        again = deliver(asker, task, body)
        same = (again.status_code, again.content) == (answer.status_code, answer.content)
        raise_if(not same, f"first {answer.content!r}, then {again.content!r}")
        return f"losses {answer.status_code}"

    def _chunks(self, asker: WorkerOf, task: dict[str, Any], draw: random.Random) -> str:
        """Pieces, one of which may arrive damaged or be announced at a wrong place."""
        body = self._losses(task, draw)
        told = {"boyut": len(body), "sha256": hashlib.sha256(body).hexdigest()}
        answer = asker.sonuc(task, "put", data=json.dumps(told), content_type="application/json")
        judge_answer("PUT", answer)
        may_begin = 0 < len(body) <= MOST_BYTES
        raise_if((answer.status_code == 201) != may_begin, f"announced: {answer.content!r}")
        offset, sent, damaged = 0, 0, draw.random() < 0.2
        while may_begin and offset < len(body):
            piece = body[offset : offset + draw.choice((1, 30, 100, MOST_BYTES))]
            if damaged and sent == 0:
                piece = bytes([piece[0] ^ 1]) + piece[1:]
            at = str(offset) if draw.random() < 0.8 else draw.choice((*TEXTS, str(offset + 1)))
            headers = {"Upload-Offset": header_text(at)}
            answer = asker.sonuc(task, "patch", data=piece, content_type=BINARY, headers=headers)
            judge_answer("PATCH", answer)
            is_taken = at == str(offset)
            if not is_taken:
                raise_if(answer.status_code not in (400, 409), f"{at!r}: {answer.status_code}")
            offset, sent = (offset + len(piece), sent + 1) if is_taken else (offset, sent)
            raise_if(is_taken and offset < len(body) and answer.status_code != 204, "no 204")
        if may_begin and damaged:
            raise_if(answer.json().get("kod") != "ozet_uyusmuyor", f"{answer.content!r}")
        elif may_begin:
            self._judge(asker, answer, body, task)
        return f"losses in chunks {answer.status_code}"

    def _losses(self, task: dict[str, Any], draw: random.Random) -> bytes:
        """An answer to ``task`` that is right in most ways most of the time."""
        held_out = HeldOut.objects.get(run=self.run, sha256=task["veri"]["sha256"])
        losses = [draw.choice((3, 2.5, 1e6, 0)) for _ in task["aday"]]
        right = {"kayip": losses, "token": held_out.tokens, "bayt": held_out.bytes}
        return messages.mutated(wires.EVALUATION | right, draw)

    def _judge(self, asker: WorkerOf, answer: Any, body: bytes, task: dict[str, Any]) -> None:
        right = self._is_right(body, task)
        taken = answer.status_code == 200 and answer.json()["kabul"] is True
        if right is not None and taken != right:
            raise Wrong(f"{'right' if right else 'wrong'}, told {answer.content!r}: {body[:300]!r}")
        if taken:
            self._judge_taken(asker, task, json.loads(body))
        self._judge_receipts(asker, task, "kullanildi" if taken else "ret")

    def _is_right(self, body: bytes, task: dict[str, Any]) -> bool | None:
        """None where readers of JSON may differ."""
        if wires.is_doubtful(body):
            return None
        found = wires.plain(body)
        if found is None or len(body) > MOST_BYTES or rules.fault(found, rules.EVALUATION):
            return False
        held_out = HeldOut.objects.get(run=self.run, sha256=task["veri"]["sha256"])
        said = len(found["kayip"]), found["token"], found["bayt"]
        return said == (len(task["aday"]), held_out.tokens, held_out.bytes)

    def _judge_taken(self, asker: WorkerOf, task: dict[str, Any], told: dict[str, Any]) -> None:
        """A snapshot's loss is shown, a result's losses are kept as evidence."""
        status = asker.http.get(f"{asker.base}/durum").json()
        raise_if(bool(fault := rules.fault(status, rules.STATUS)), f"/durum: {fault}")
        if asker is self._author:
            kept = Evaluation.objects.get(snapshot__run=self.run)
            raise_if(kept.loss != told["kayip"][0], f"{kept.loss} was kept")
            shown = [(one["surum"], one["kayip"]) for one in status["olcum"]]
            raise_if(shown != [(1, kept.loss)], f"/durum shows {shown}")
            return
        check = Check.objects.get(result__unit__round__run=self.run)
        raise_if(check.evidence[-1]["losses"] != told["kayip"], f"kept: {check.evidence}")
        raise_if(bool(status["olcum"]), "a result's measurement is shown as a snapshot's")

    def _judge_receipts(self, asker: WorkerOf, task: dict[str, Any], fate: str) -> None:
        """The newest is about what was just delivered; the author's next about its training."""
        if asker is self._stranger:
            return
        shown = asker.http.get(f"{asker.base}/makbuz").json()
        raise_if(bool(fault := rules.fault(shown, rules.RECEIPTS)), f"/makbuz: {fault}")
        of = [(one["gorev"], one["is"], one["durum"]) for one in shown["makbuz"]]
        first = [(task["gorev"], "olc", fate)] if fate != "ret" or len(of) else []
        trained = [(self._trained["gorev"], "egit", "bekliyor")]
        known = trained if asker is self._author else []
        raise_if(of not in (first + known, known), f"/makbuz shows {of}")

    # --- Files ------------------------------------------------------------------------------------

    def _file(self, asker: WorkerOf, task: dict[str, Any], draw: random.Random) -> str:
        """``/ayrik`` for the holder of an ``olc`` lease, ``/aday`` if that is about a result."""
        path = draw.choice(("ayrik", "aday"))
        token = task["gorev"]
        if draw.random() < 0.4:
            token = draw.choice((self._trained["gorev"], *TEXTS))
        caller = draw.choice((asker, asker, self._author, self._other, self._stranger))
        method = draw.choice(("get", "get", "head"))
        headers = {"Range": draw.choice(RANGES)} if draw.random() < 0.7 else {}
        url = f"{caller.base}/{path}?gorev={quote(token)}"
        answer = getattr(caller.http, method)(url, headers=headers)
        judge_answer(method.upper(), answer)
        strange = caller is not asker and self._stranger not in (caller, asker)
        may = token == task["gorev"] and not strange
        about = path == "ayrik" or len(task["aday"]) > 1
        right = (200, 206, 416) if may and about else (404,)
        raise_if(answer.status_code not in right, f"{path}: {answer.status_code}, not {right}")
        if answer.status_code in (200, 206):
            named = task["veri"] if path == "ayrik" else task["aday"][1]["sonuc"]
            raise_if(answer.headers["ETag"] != f'"{named["sha256"]}"', "another file")
            if method == "get":
                judge_part(answer)
        return f"{path} {answer.status_code}"
