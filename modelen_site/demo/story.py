"""The demo from beginning to end."""

import time
import urllib.error
import urllib.request
from collections.abc import Callable

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
from worker_client.contract.formats import load_format
from worker_client.models.errors import ModelError
from worker_client.models.fetch import fetch
from worker_client.models.store import ModelStore
from worker_client.models.verify import verify

START_S = 60.0


def tell(
    plan: Plan, places: Places, port: int, screen: Screen, elapsed: Callable[[], float]
) -> None:
    """Run the demo and write its summary; on a terminal, then go on serving until Ctrl-C.

    ``elapsed`` gives the seconds since the command began.

    Raises:
        DemoFailed: something went wrong; the message says what.
    """
    url = stage.address(port, plan.slug)
    with Children(places.logs) as children:
        with screen:
            _get_model(plan, places, screen)
            texts = _get_texts(places, screen)
            _set_stage(plan, texts, places, url, screen)
            server = _serve(port, children, screen)
            summary = _train(plan, texts, places, url, children, server, screen, elapsed)
        _report(summary, places, screen)
        if screen.is_terminal:
            _go_on_serving(server, url, screen)


def _get_model(plan: Plan, places: Places, screen: Screen) -> None:
    fmt, store = load_format(plan.format), ModelStore(places.models)
    with screen.step(f"Base model {fmt.base_model.id}") as progress:
        try:
            fetch(fmt, store, progress=progress)
            verify(fmt, store, progress=progress)
        except ModelError as error:
            raise DemoFailed(str(error)) from error


def _get_texts(places: Places, screen: Screen) -> Texts:
    with screen.step("Text") as progress:
        texts = prepare_texts(places.home / "text", places.cache, progress)
    if texts.fallback:
        screen.say(f"  {texts.fallback}")
    screen.say(f"  training on {texts.source}")
    return texts


def _set_stage(plan: Plan, texts: Texts, places: Places, url: str, screen: Screen) -> None:
    with screen.step("Database, administrator, coordinator and run"):
        stage.make_database()
        password = stage.make_admin(places.home / "admin.txt")
        stage.list_coordinator(url, plan.slug)
        try:
            stage.make_run(plan, texts, places)
        except CommandError as error:
            raise DemoFailed(str(error)) from error
    screen.say(f"  administrator {stage.ADMIN}, password {password}, see {places.home}/admin.txt")
    screen.say("  (the first visit to /admin/ sets up a second factor)")


def _serve(port: int, children: Children, screen: Screen) -> Child:
    server = children.start("server", "manage.py", "serve", "--port", str(port))
    with screen.step("Server"):
        deadline = time.monotonic() + START_S
        while not _answers(port):
            server.demand_running()
            if time.monotonic() > deadline:
                raise DemoFailed(f"the server does not answer: {server.last_words()}")
            time.sleep(0.1)
    screen.say(f"  serving on http://{HOST}:{port}/")
    return server


def _answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://{HOST}:{port}/healthz", timeout=5) as answer:
            return answer.status == 200
    except (urllib.error.URLError, TimeoutError, ConnectionError):
        return False


def _train(
    plan: Plan,
    texts: Texts,
    places: Places,
    url: str,
    children: Children,
    server: Child,
    screen: Screen,
    elapsed: Callable[[], float],
) -> Summary:
    with screen.step("Scores before training") as progress:
        judge = Judge(plan.format, places.models, texts)
        before = judge.score(None, progress)
    screen.say(f"Training, to be watched on {url}/")
    traffic = train_run(plan, url, places, children, server, screen)
    with screen.step("Scores after training") as progress:
        after = judge.score(stage.newest_snapshot(plan.slug), progress)
    return Summary(
        **recorded(plan.slug),
        bits_per_byte={name: Change(before[name], after[name]) for name in before},
        bytes_up=traffic.up,
        bytes_down=traffic.down,
        wall_s=round(elapsed(), 3),
        text=texts.source,
    )


def _report(summary: Summary, places: Places, screen: Screen) -> None:
    path = places.home / "summary.json"
    summary.write(path)
    screen.say("")
    screen.say(summary.table())
    screen.say(f"\nWritten to {path}")


def _go_on_serving(server: Child, url: str, screen: Screen) -> None:
    screen.say(f"Still serving {url}/ - Ctrl-C stops")
    while True:
        server.demand_running()
        time.sleep(1)
