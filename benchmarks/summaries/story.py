"""The benchmark from beginning to end, with the demo's server and volunteers."""

import json
import subprocess
import sys
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

from django.core.management import call_command

from benchmarks.summaries.columns import LICENCE, SOURCE
from modelen_site.demo.children import Child, Children
from modelen_site.demo.places import HOST, PROJECT, Places
from modelen_site.demo.plan import DemoFailed, Plan
from modelen_site.demo.screen import Screen
from modelen_site.demo.stage import make_database, newest_snapshot
from modelen_site.demo.volunteers import train_run
from worker_client.contract.formats import load_adapter_format
from worker_client.data.article import Article
from worker_client.models.fetch import fetch
from worker_client.models.store import ModelStore

START_S = 120.0


@dataclass(frozen=True)
class Story:
    plan: Plan
    places: Places
    port: int

    def tell(self, train: list[Article], held_out: list[Article]) -> tuple[dict, dict]:
        """What ``evaluate --summaries`` finds before and after the run."""
        with Children(self.places.logs) as children, Screen() as screen:
            with screen.step("Base model") as progress:
                fetch(load_adapter_format(self.plan.format), ModelStore(self.places.models),
                      progress=progress)  # fmt: skip
            with screen.step("Database and run"):
                texts, asked = self._write("train", train), self._write("held-out", held_out)
                make_database()
                self._make_run(texts)
            server = children.start("server", "manage.py", "serve", "--port", str(self.port))
            self._wait_for(server)
            with screen.step("Summaries before"):
                before = self._evaluate(asked, None)
            url = f"http://{HOST}:{self.port}/c/{self.plan.slug}"
            train_run(self.plan, url, self.places, children, server, screen)
            with screen.step("Summaries after"):
                after = self._evaluate(asked, newest_snapshot(self.plan.slug))
            return before, after

    def _write(self, name: str, articles: list[Article]) -> Path:
        path = self.places.home / f"{name}.jsonl"
        path.write_bytes(b"".join(article.to_line() for article in articles))
        return path

    def _make_run(self, texts: Path) -> None:
        plan, shards = self.plan, self.places.home / "shards"
        call_command(
            "shard_text", texts, mode="sft", format=plan.format, shards=plan.workers,
            seq=plan.seq_len, out=shards, source=SOURCE, licence=LICENCE, stdout=StringIO(),
        )  # fmt: skip
        call_command(
            "create_run", plan.slug, mode="sft", format=plan.format, data=shards,
            rounds=plan.rounds, inner_steps=plan.inner_steps, batch_size=plan.batch_size,
            seq_len=plan.seq_len, lr=plan.lr, chunk_bytes=plan.chunk_bytes,
            round_seconds=6 * 3600, stdout=StringIO(),
        )  # fmt: skip

    def _wait_for(self, server: Child) -> None:
        deadline = time.monotonic() + START_S
        while not self._answers():
            server.demand_running()
            if time.monotonic() > deadline:
                raise DemoFailed(f"the server does not answer: {server.last_words()}")
            time.sleep(0.2)

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://{HOST}:{self.port}/healthz", timeout=10) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, TimeoutError, ConnectionError):
            return False

    def _evaluate(self, asked: Path, snapshot: Path | None) -> dict:
        command = [sys.executable, "-m", "worker_client", "evaluate", self.plan.format]
        command += ["--models-dir", str(self.places.models), "--device", "cpu", "--threads", "1"]
        command += ["--summaries", str(asked), "--seq", str(self.plan.seq_len), "--json"]
        command += ["--snapshot", str(snapshot)] if snapshot else []
        done = subprocess.run(command, cwd=PROJECT, stdout=subprocess.PIPE, check=True, text=True)
        return json.loads(done.stdout)
