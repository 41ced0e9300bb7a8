"""List a run's workers, and decide who may take part."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from coordination.management.commands._run import RunCommand, find_run
from coordination.models import Run, Worker
from coordination.workers.decisions import DECISIONS


class Command(RunCommand):
    help = (
        "List a run's workers, or approve, pause, block or unblock one, or let it see raw text. "
        "Example: manage.py workers tr-wiki pause merry-otter-4831 --reason 'please run doctor'"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("verb", nargs="?", choices=sorted(DECISIONS))
        parser.add_argument("name", nargs="?", help="the worker's pseudonym")
        parser.add_argument("--reason", default="", help="told to the worker; kept")
        parser.add_argument("--state", choices=Worker.State.values, help="list only these")
        parser.add_argument(
            "--unregistered", action="store_true", help="the name as it is used without a token"
        )

    def handle(self, *args: object, **options: Any) -> None:
        run = find_run(options["slug"])
        if options["verb"] is None:
            self._list(run, options["state"])
            return
        worker = _find(run, options["name"], options["unregistered"])
        decision = DECISIONS[options["verb"]]
        if decision.needs_reason and not options["reason"].strip():
            raise CommandError("say why with --reason; the worker is told")
        if not decision.verb(worker, options["reason"].strip()):
            raise CommandError(f"{worker} is {worker.get_state_display()}; that cannot be done now")
        self.stdout.write(f"{worker}: {worker.get_state_display()}")

    def _list(self, run: Run, state: str | None) -> None:
        workers = Worker.objects.filter(run=run)
        if state:
            workers = workers.filter(state=state)
        for worker in workers.iterator():
            self.stdout.write(_line(worker))


def _find(run: Run, name: str | None, unregistered: bool) -> Worker:
    if name is None:
        raise CommandError("name the worker, as in: workers SLUG approve NAME")
    named = Worker.objects.filter(run=run, name=name)
    rows = named.filter(token_digest="") if unregistered else named.exclude(token_digest="")
    worker = rows.first()
    if worker is None:
        other = "has not registered; see --unregistered" if named.exists() else "is unknown here"
        raise CommandError(f"{name} {other}")
    return worker


def _line(worker: Worker) -> str:
    seen = f"{worker.last_seen_at:%Y-%m-%d %H:%M} UTC" if worker.last_seen_at else "never"
    notes = ["registered" if worker.is_registered else "no token"]
    if worker.may_see_text:
        notes.append("may see text")
    if worker.copies_seen:
        notes.append(f"a copy of it seen {worker.copies_seen} times")
    if worker.state_reason:
        notes.append(worker.state_reason)
    return f"{worker.name:<32}  {worker.state:<8}  asked for work {seen}  {', '.join(notes)}"
