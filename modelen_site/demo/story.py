"""The demo from beginning to end."""

import time
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from django.core.management import CommandError

from modelen_site.demo import stage
from modelen_site.demo.children import Child, Children
from modelen_site.demo.judge import Judge
from modelen_site.demo.places import HOST, Places
from modelen_site.demo.plan import DemoFailed, Plan
from modelen_site.demo.screen import Screen
from modelen_site.demo.summary import Change, Summary, recorded
from modelen_site.demo.texts import Texts, prepare_texts
from modelen_site.demo.volunteers import train_run
from worker_client.contract.formats import load_adapter_format
from worker_client.models.errors import ModelError
from worker_client.models.fetch import fetch
from worker_client.models.store import ModelStore
from worker_client.models.verify import verify

START_S = 60.0


@dataclass(frozen=True)
class Story:
    """Each step raises DemoFailed when the demo cannot go on."""

    plan: Plan
    places: Places
    port: int
    screen: Screen

    @property
    def site(self) -> str:
        return f"http://{HOST}:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.site}/c/{self.plan.slug}"

    @property
    def summary_path(self) -> Path:
        return self.places.home / "summary.json"

    def tell(self, elapsed: Callable[[], float]) -> None:
        """Run the demo and write its summary; on a terminal, then go on serving until Ctrl-C.

        ``elapsed`` gives the seconds since the command began.
        """
        with Children(self.places.logs) as children:
            with self.screen:
                self._get_model()
                texts = self._get_texts()
                self._set_stage(texts)
                server = self._serve(children)
                self._prove_address()
                summary = self._train(texts, children, server, elapsed)
                self._find_in_directory()
            self._report(summary)
            if self.screen.is_terminal:
                self._go_on_serving(server)

    def _get_model(self) -> None:
        fmt, store = load_adapter_format(self.plan.format), ModelStore(self.places.models)
        with self.screen.step(f"Base model {fmt.base_model.id}") as progress:
            try:
                fetch(fmt, store, progress=progress)
                verify(fmt, store, progress=progress)
            except ModelError as error:
                raise DemoFailed(str(error)) from error

    def _get_texts(self) -> Texts:
        with self.screen.step("Text") as progress:
            texts = prepare_texts(self.places.home / "text", self.places.cache, progress)
        if texts.fallback:
            self.screen.say(f"  {texts.fallback}")
        self.screen.say(f"  training on {texts.source}")
        return texts

    def _set_stage(self, texts: Texts) -> None:
        kept = self.places.home / "admin.txt"
        with self.screen.step("Database, administrator, coordinator and run"):
            stage.make_database()
            password = stage.make_admin(kept)
            with (self.places.logs / "mail.log").open("w", encoding="utf-8") as mail:
                # What the portal mails goes to standard output, which is the story's.
                with redirect_stdout(mail):
                    stage.list_coordinator(self.url, self.plan.slug)
            try:
                stage.make_run(self.plan, texts, self.places)
            except CommandError as error:
                raise DemoFailed(str(error)) from error
        self.screen.say(f"  administrator {stage.ADMIN}, password {password}, kept in {kept}")
        self.screen.say("  (the first visit to /admin/ sets up a second factor)")

    def _serve(self, children: Children) -> Child:
        server = children.start("server", "manage.py", "serve", "--port", str(self.port))
        with self.screen.step("Server"):
            deadline = time.monotonic() + START_S
            while not self._answers():
                server.demand_running()
                if time.monotonic() > deadline:
                    raise DemoFailed(f"the server does not answer: {server.last_words()}")
                time.sleep(0.1)
        self.screen.say(f"  serving on {self.site}/")
        return server

    def _prove_address(self) -> None:
        with self.screen.step("Proof of the coordinator's address"):
            stage.prove_address(self.plan.slug)

    def _find_in_directory(self) -> None:
        with self.screen.step("Directory"):
            path = stage.demand_listed(self.plan.slug)
        self.screen.say(f"  listed, verified and online: {self.site}{path}")

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.site}/healthz", timeout=5) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, TimeoutError, ConnectionError):
            return False

    def _train(
        self, texts: Texts, children: Children, server: Child, elapsed: Callable[[], float]
    ) -> Summary:
        with self.screen.step("Scores before training") as progress:
            judge = Judge(self.plan.format, self.places.models, texts)
            before = judge.score(None, progress)
        self.screen.say(f"Training, to be watched on {self.url}/")
        traffic = train_run(self.plan, self.url, self.places, children, server, self.screen)
        with self.screen.step("Scores after training") as progress:
            after = judge.score(stage.newest_snapshot(self.plan.slug), progress)
        return Summary(
            **recorded(self.plan.slug),
            bits_per_byte={name: Change(before[name], after[name]) for name in before},
            bytes_up=traffic.up,
            bytes_down=traffic.down,
            wall_s=round(elapsed(), 3),
            text=texts.source,
        )

    def _report(self, summary: Summary) -> None:
        summary.write(self.summary_path)
        self.screen.say("")
        self.screen.say(summary.table())
        self.screen.say(f"\nWritten to {self.summary_path}")

    def _go_on_serving(self, server: Child) -> None:
        self.screen.say(f"Still serving {self.url}/ - Ctrl-C stops")
        while True:
            server.demand_running()
            time.sleep(1)
