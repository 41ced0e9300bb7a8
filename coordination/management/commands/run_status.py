"""Print a run's live state."""

import json
from argparse import ArgumentParser
from typing import Any

from coordination.live.status import status
from coordination.management.commands._run import RunCommand, find_run
from worker_client.contract.wire import Status


class Command(RunCommand):
    help = "Print a run's state, counts and finished rounds (the same as GET /c/SLUG/durum)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--json", action="store_true", help="as the protocol's JSON")

    def handle(self, *args: object, **options: Any) -> None:
        run = find_run(options["slug"])
        found = status(run)
        if options["json"]:
            self.stdout.write(json.dumps(found.to_wire()))
            return
        self.stdout.write("\n".join(lines(found)))


def lines(found: Status) -> list[str]:
    """The status as lines of text, newest round last."""
    tasks, results = found.tasks, found.results
    counts = f"{results.accepted} accepted, {results.refused} refused, {results.screened} screened"
    head = [
        f"state    {found.state.name.lower()}, round {found.round} of {found.rounds}",
        f"workers  {found.workers}",
        f"tasks    {tasks.free} free, {tasks.leased} leased, {tasks.done} done",
        f"results  {counts}",
    ]
    if text := found.preparation:
        head.append(f"text     {text.done} of {text.total} chunks prepared")
    rounds = [
        f"round {row.round:>4}  loss {'-' if row.loss is None else f'{row.loss:.4f}'}  "
        f"{row.accepted} results  {row.seconds:.1f} s  {row.sha256[:16]}"
        for row in found.history
    ]
    measured = [
        f"snapshot {row.number:>4}  {row.language}  loss {row.loss:.4f}  "
        f"{row.bits_per_byte:.4f} bits per byte"
        for row in found.held_out
    ]
    return head + rounds + measured
