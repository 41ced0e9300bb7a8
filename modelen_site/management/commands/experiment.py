"""Run an experiment: a grid of ways to train one model, with a report at its end."""

import os
import shlex
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from modelen_site.demo import interrupt
from modelen_site.demo.plan import DemoFailed
from modelen_site.experiments.cells import How
from modelen_site.experiments.plan import PlanRefused
from modelen_site.experiments.publish import publish
from modelen_site.experiments.story import Story

INTERRUPTED = 130


class Command(BaseCommand):
    help = (
        "Train one model in every way that FILE lists and write a report. Goes on where it was "
        "stopped. Example: manage.py experiment benchmarks/experiments/quick.toml"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="the experiment, as TOML")
        parser.add_argument(
            "--real",
            action="store_true",
            help="through a server and worker processes on this computer, not in a simulation",
        )
        parser.add_argument(
            "--processes",
            type=int,
            default=os.cpu_count() or 1,
            help="cells simulated at a time, each on one thread (default: a cell a core)",
        )
        parser.add_argument(
            "--estimate", action="store_true", help="only say how long it will take"
        )
        parser.add_argument(
            "--outcomes", type=Path, help="folder that keeps what cells came to (default: in var/)"
        )
        parser.add_argument("--out", type=Path, help="folder for the report (default: in var/)")
        parser.add_argument(
            "--publish", action="store_true", help="show the report on this site's pages"
        )

    def handle(self, *args: object, **options: Any) -> None:
        if options["processes"] < 1:
            raise CommandError("--processes: at least 1")
        interrupt.listen()
        try:
            self._tell(options)
        except (PlanRefused, DemoFailed) as error:
            raise CommandError(str(error)) from None
        except KeyboardInterrupt:
            self.stderr.write("Stopped; the same command goes on from here.")
            sys.exit(INTERRUPTED)

    def _tell(self, options: dict[str, Any]) -> None:
        command = shlex.join(["manage.py", *sys.argv[1:]])
        how: How = "real" if options["real"] else "simulation"
        root, outcomes = settings.MODELEN_VAR / "experiments", options["outcomes"]
        story = Story(options["file"], root, how, command, outcomes=outcomes)
        if options["estimate"]:
            story.announce(options["processes"])
            return
        folder = story.tell(options["processes"], options["out"])
        self.stdout.write(f"Report: {folder / 'report.md'}")
        if options["publish"]:
            self.stdout.write(f"Published: /experiments/{publish(folder).name}/")
