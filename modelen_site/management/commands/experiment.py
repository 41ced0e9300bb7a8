"""Run an experiment: a grid of ways to train one model, with a report at its end."""

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from modelen_site.experiments.plan import PlanRefused
from modelen_site.experiments.story import Story


class Command(BaseCommand):
    help = (
        "Train one model in every way that FILE lists and write a report. Goes on where it was "
        "stopped. Example: manage.py experiment benchmarks/experiments/quick.toml"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="the experiment, as TOML")
        parser.add_argument(
            "--processes", type=int, default=1, help="cells simulated at a time (default 1)"
        )
        parser.add_argument("--out", type=Path, help="folder for the report (default: in var/)")

    def handle(self, *args: object, **options: Any) -> None:
        command = " ".join(["manage.py", *sys.argv[1:]])
        try:
            story = Story(options["file"], settings.MODELEN_VAR / "experiments", command)
            folder = story.tell(options["processes"], options["out"])
        except PlanRefused as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"Report: {folder / 'report.md'}")
