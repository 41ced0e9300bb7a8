"""Requests of the job ``on_isle``, hostile in all but the lease; each case is undone afterwards."""

import json
import random
from pathlib import Path
from typing import Any
from urllib.parse import quote

from coordination.models import Result, Run, Worker
from coordination.preparing.store import RawText
from coordination.rounds.create import create_run
from coordination.storage import blobs
from coordination.workers.show_text import show_text
from tests.coordination.making import TINY, WorkerOf, vector, write_weights
from tests.fuzzing import files, judging, rules
from tests.fuzzing.asking import (
    LONG_S,
    RANGES,
    TEXTS,
    deliver,
    judge_answer,
    judge_part,
    raise_if,
    undone,
)
from worker_client.contract.formats import load_format
from worker_client.models.seeded_base import tokenizer_json

FMT, SEQ = load_format(TINY), 16
MOST_TOKENS_PER_BYTE = 3
TEXT = json.dumps({"body": "The ferry crosses the bay. " * 12, "language": "en"}) + "\n"


class Preparing:
    """One chunk of text: its rows are taken if and only if they are right, and the text is served
    to nobody but the holder of its lease."""

    def __init__(self, folder: Path) -> None:
        self.run = _make_run(folder)
        self._shown = [self._volunteer(name) for name in ("reader", "helper")]
        for row in Worker.objects.filter(run=self.run):
            show_text(row)
        self._blind = self._volunteer("blind")
        self._nobody = WorkerOf(self.run, "nobody")

    def _volunteer(self, name: str) -> WorkerOf:
        worker = WorkerOf(self.run, name)
        worker.http.raise_request_exception = False
        worker.register()
        return worker

    def play(self, draw: random.Random) -> str:
        asker = draw.choice(self._shown)
        with undone():
            refused = draw.choice((self._blind, self._nobody)).ask(isler=["on_isle"])
            judge_answer("POST", refused)
            raise_if(refused.status_code not in (401, 403), f"text for all: {refused.content!r}")
            task = asker.ask(isler=["egit", "on_isle"]).json()
            raise_if(bool(fault := rules.fault_of_task(task)), f"a lease was given whose {fault}")
            return draw.choice((self._rows, self._file))(asker, task, draw)

    def _rows(self, asker: WorkerOf, task: dict[str, Any], draw: random.Random) -> str:
        most, vocabulary = MOST_TOKENS_PER_BYTE * task["ham_metin"]["boyut"], FMT.vocab_size
        tokenizer = task["belirtec_sha256"]

        def told(rows: int) -> dict[str, str]:
            targets = str(rows * (SEQ - 1))
            return {"belirtec_sha256": tokenizer, "token": targets, "bayt": targets}

        body = files.mutated_rows(SEQ, vocabulary, most // SEQ, told, draw)
        answer = deliver(asker, task, body)
        right = judging.are_rows(body, SEQ, vocabulary, most, tokenizer)
        raise_if((answer.status_code == 200) != right, f"right is {right}: {answer.content!r}")
        if right:
            kept = Result.objects.get(lease__token=task["gorev"]).vector_sha256
            ids = judging.rows_of(body)
            raise_if(blobs().open(kept).read() != ids.tobytes(), "other rows were kept")
        return f"rows {answer.status_code}"

    def _file(self, asker: WorkerOf, task: dict[str, Any], draw: random.Random) -> str:
        name = draw.choice(("ham_metin", "belirtec"))
        token = task["gorev"] if draw.random() < 0.7 else draw.choice(TEXTS)
        caller = draw.choice((asker, asker, *self._shown, self._blind, self._nobody))
        method = draw.choice(("get", "get", "head"))
        headers = {"Range": draw.choice(RANGES)} if draw.random() < 0.7 else {}
        url = f"{caller.base}/{name}?gorev={quote(token)}"
        answer = getattr(caller.http, method)(url, headers=headers)
        judge_answer(method.upper(), answer)
        may = token == task["gorev"] and caller is asker
        right = (200, 206, 416) if may else (404,)
        raise_if(answer.status_code not in right, f"{name}: {answer.status_code}, not {right}")
        if answer.status_code in (200, 206):
            raise_if(answer.headers["ETag"] != f'"{task[name]["sha256"]}"', "another file")
            raise_if("no-store" not in answer.headers["Cache-Control"], "text may be cached")
            if method == "get":
                judge_part(answer)
        return f"{name} {answer.status_code}"


def _make_run(folder: Path) -> Run:
    articles, tokenizer = folder / "articles.jsonl", folder / "tokenizer.json"
    articles.write_text(TEXT, "utf-8")
    tokenizer.write_text(tokenizer_json(), "utf-8")
    snapshot = write_weights(folder / "raw-1.safetensors", FMT, vector(1, FMT))
    run = Run(
        slug="raw",
        name="raw",
        format=TINY,
        rounds=1,
        inner_steps=2,
        batch_size=2,
        seq_len=SEQ,
        shards=1,
        units_per_round=1,
        target_results=1,
        lease_seconds=LONG_S,
        lease_max_seconds=LONG_S,
        round_seconds=LONG_S,
    )
    return create_run(run, snapshot, [], raw=RawText([articles], tokenizer))
