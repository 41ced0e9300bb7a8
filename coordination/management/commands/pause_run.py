"""Pause a run: no new leases, no merging; work under way may still be delivered."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from coordination.management.commands._run import RunCommand, find_run
from coordination.rounds.pause import pause_run


class Command(RunCommand):
    help = "Pause a run. Work under way may still be delivered; resume_run takes it up again."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--reason", default="paused by its operator", help="shown to people")

    def handle(self, *args: object, **options: Any) -> None:
        run = find_run(options["slug"])
        if not pause_run(run, options["reason"]):
            raise CommandError(f"{run.slug} is {run.get_state_display()}; only an open run pauses")
        self.stdout.write(f"{run.slug}: paused")
