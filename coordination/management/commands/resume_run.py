"""Open a paused or ready run."""

from typing import Any

from django.core.management.base import CommandError

from coordination.management.commands._run import RunCommand, find_run
from coordination.rounds.pause import resume_run


class Command(RunCommand):
    help = "Open a paused or ready run; its round gets a fresh deadline."

    def handle(self, *args: object, **options: Any) -> None:
        run = find_run(options["slug"])
        if not resume_run(run):
            raise CommandError(
                f"{run.slug} is {run.get_state_display()}; only a paused one resumes"
            )
        self.stdout.write(f"{run.slug}: open")
