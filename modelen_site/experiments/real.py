"""One cell through a server and workers as people run them, in processes of their own.

The server is the embedded default on this computer, with its state in the cell's folder; each
client is a ``python -m worker_client run`` on one thread.
"""

import os
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

from coordination.store.local import BlobStore
from modelen_site.demo.children import Child, Children, Lines
from modelen_site.demo.places import HOST, KEPT, SITE_SETTINGS, free_port
from modelen_site.demo.plan import DemoFailed
from modelen_site.experiments.cells import Cell, Outcome, Point, exchanged
from modelen_site.experiments.judge import Judge
from modelen_site.experiments.plan import Plan, PlanRefused
from modelen_site.experiments.simulate import is_due
from modelen_site.experiments.texts import Texts, shard_folder
from modelen_site.experiments.told import Told
from worker_client.contract.formats import load_format
from worker_client.contract.wire import RAW_ENCODING, FinishedRound, Status
from worker_client.training.initial import write_initial

POLL_S = 0.2
START_S = 120.0
LONG_S = str(30 * 86400)  # nobody is late here, however long a task takes
LONG_HOURS = "720"
MAX_STEPS = 10_000

Ticked = Callable[[int], object]


class RealRun:
    """``tick`` hears of every step, in steps of ``plan.batch_size`` sequences.

    Raises:
        PlanRefused: the cell is nothing that a run can do.
    """

    def __init__(self, plan: Plan, cell: Cell, texts: Texts, folder: Path, tick: Ticked) -> None:
        self.plan, self.cell, self.folder, self.tick = plan, cell, folder, tick
        self.setting, self.work = cell.setting, plan.work(cell.setting)
        if self.work.steps > MAX_STEPS:
            raise PlanRefused(
                f"{self.setting.arm} has tasks of {self.work.steps} steps, and protocol v1 allows "
                f"{MAX_STEPS}; raise batch_size, or leave out --real"
            )
        self.format, self.texts = load_format(plan.format), texts
        self.slug = f"cell-{cell.key}"
        self.url = f"http://{HOST}:{free_port(0)}"

    def run(self) -> Outcome:
        """
        Raises:
            DemoFailed: server or worker ended badly; the message says where to look.
        """
        started, told = time.monotonic(), Told()
        logs = self.folder / "logs"
        logs.mkdir()
        with Children(logs, self._environment()) as children:
            server = self._serve(children)
            self._create(children)
            self._train(children, server, told)
            history = self._history()
        return self._judge(told, history, time.monotonic() - started)

    def _environment(self) -> dict[str, str]:
        """This process's, without what would point the server elsewhere."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if name not in SITE_SETTINGS and (not name.startswith("MODELEN_") or name in KEPT)
        }
        return kept | {
            "DJANGO_SETTINGS_MODULE": "modelen_site.settings",
            "MODELEN_VAR": str(self.folder / "var"),
        }

    def _serve(self, children: Children) -> Child:
        port = self.url.rpartition(":")[2]
        server = children.start("server", "manage.py", "serve", "--port", port)
        deadline = time.monotonic() + START_S
        while not self._answers():
            server.demand_running()
            if time.monotonic() > deadline:
                raise DemoFailed(f"the server does not answer: {server.last_words()}")
            time.sleep(POLL_S)
        return server

    def _answers(self) -> bool:
        try:
            return bool(_get(f"{self.url}/healthz"))
        except OSError:
            return False

    def _create(self, children: Children) -> None:
        child = children.start("create_run", "manage.py", "create_run", *self._options())
        while not child.ended:
            time.sleep(POLL_S)

    def _options(self) -> Iterator[str]:
        plan, work, setting = self.plan, self.work, self.setting
        shards = shard_folder(self.texts.folder, work.workers, setting.division)
        yield from (self.slug, "--format", plan.format, "--recete", plan.recipe)
        yield from ("--data", str(shards))
        yield from ("--rounds", str(work.rounds), "--ic-adim", str(work.steps))
        yield from ("--bs", str(work.batch_size), "--seq", str(plan.seq_len))
        yield from ("--lr", repr(self.cell.lr), "--tohum", str(self.cell.seed))
        yield from ("--rule", "mean", "--no-verify", "--kodlama", setting.up)
        if setting.down != RAW_ENCODING:
            yield from ("--fark", setting.down)
        if setting.kind == "diloco":
            yield from ("--outer", "nesterov", "--outer-lr", repr(setting.outer_lr))
            yield from ("--outer-momentum", repr(setting.outer_momentum))
        else:
            yield from ("--outer", "sgd", "--outer-lr", "1")
        yield from ("--min-results", str(work.workers), "--backup-seconds", "0")
        yield from ("--round-seconds", LONG_S, "--lease-max-seconds", LONG_S)
        yield from ("--keep-snapshots", str(work.rounds + 2))

    def _train(self, children: Children, server: Child, told: Told) -> None:
        lines = Lines()
        workers = [self._start(children, number) for number in range(1, self.work.workers + 1)]
        for worker in workers:
            assert worker.process.stdout is not None
            lines.follow(worker.name, worker.process.stdout)
        running = True
        while running:
            server.demand_running()
            ended = [worker.ended for worker in workers]  # each of them may have failed
            running = not all(ended)
            if not running:
                lines.finish()
            for name, event in lines.arrived(POLL_S):
                if event["event"] == "step":
                    self.tick(self.work.batch_size // self.plan.batch_size)
                told.hear(name, event)

    def _start(self, children: Children, number: int) -> Child:
        name = f"client-{number}"
        return children.start(
            name,
            *("-m", "worker_client", "run", f"{self.url}/c/{self.slug}", "--json"),
            *("--name", name, "--state-dir", str(self.folder / name)),
            *("--device", "cpu", "--threads", "1", "--max-hours", LONG_HOURS),
            stdout=subprocess.PIPE,
        )

    def _history(self) -> list[FinishedRound]:
        """The published rounds, oldest first."""
        rounds: list[FinishedRound] = []
        while len(rounds) < self.work.rounds:
            before = f"?once={rounds[0].round}" if rounds else ""
            status = Status.model_validate_json(_get(f"{self.url}/c/{self.slug}/durum{before}"))
            if not status.history:
                raise DemoFailed("the run is over and rounds of it are missing")
            rounds = [*status.history, *rounds]
        return rounds

    def _judge(self, told: Told, history: list[FinishedRound], seconds: float) -> Outcome:
        judge, store = Judge(self.plan, self.texts), BlobStore(self.folder / "var" / "blobs")
        first = self.folder / "snapshot-1.safetensors"
        write_initial(self.format, self.cell.seed, first)
        points = [self._point(judge, told, 0, first)]
        for row in history:
            if is_due(row.round, self.work.rounds, self.plan.points):
                points.append(self._point(judge, told, row.round, store.path(row.sha256)))
        return Outcome(
            cell=self.cell,
            how="real",
            validation=judge.validate(store.path(history[-1].sha256)),
            points=points,
            shard_bytes=told.once["data"],
            first_bytes=told.once["snapshot"],
            wire_up=told.wire["up"],
            wire_down=told.wire["down"],
            screened=sum(row.screened for row in history),
            digest=history[-1].sha256,
            seconds=seconds,
            device=told.device,
            dtype=told.dtype,
        )

    def _point(self, judge: Judge, told: Told, number: int, snapshot: Path) -> Point:
        work, (loss, by_language) = self.work, judge.test(snapshot)
        steps = number * work.steps
        tokens = steps * work.batch_size * work.workers * self.plan.seq_len
        up, down = exchanged(self.setting, self.format.data_bytes, steps, told.until(number))
        return Point(
            round=number, tokens=tokens, up=up, down=down, loss=loss, by_language=by_language
        )


def _get(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=30) as answer:
        return bytes(answer.read())
