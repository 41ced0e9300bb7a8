"""Samples on a run's page: what its snapshots make of a few fixed prompts."""

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandError

from coordination.child import add_tokenizer
from coordination.management.commands._run import RunCommand, find_run, find_snapshot
from coordination.models import SamplePrompts
from coordination.samples.prompts import set_prompts, stop_samples
from coordination.samples.take import take_samples_again


class Command(RunCommand):
    help = (
        "Let a snapshot go on with a run's prompts and show it on the run's page. With --prompts "
        "from now on each newest snapshot, until --stop. Example: sample_run tr-wiki --prompts "
        "prompts.jsonl"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        what = parser.add_mutually_exclusive_group()
        what.add_argument(
            "--prompts",
            type=Path,
            help='1 to 8 lines like {"language": "tr", "text": "Bir gün"}; with --mod sft the '
            "texts are instructions",
        )
        what.add_argument("--stop", action="store_true", help="take and show no more samples")
        add_tokenizer(parser)
        parser.add_argument("--tur", type=int, help="snapshot number (default: the newest)")
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: object, **options: Any) -> None:
        run = find_run(options["slug"])
        if options["stop"]:
            stop_samples(run)
            self.stdout.write(f"{run.slug}: no more samples")
            return
        snapshot = find_snapshot(run, options["tur"])
        if options["prompts"]:
            try:
                set_prompts(run, options["prompts"].read_text("utf-8"), options["tokenizer"])
            except (ValidationError, OSError, UnicodeDecodeError) as error:
                reason = error.messages[0] if isinstance(error, ValidationError) else error
                raise CommandError(f"{options['prompts']}: {reason}") from None
        wanted = SamplePrompts.objects.filter(run=run).first()
        if wanted is None:
            raise CommandError(f"{run.slug} has no prompts yet; give some with --prompts")
        samples = take_samples_again(snapshot, wanted)
        if samples.texts is None:
            raise CommandError(samples.error)
        if options["json"]:
            self.stdout.write(json.dumps(samples.texts))
            return
        for sample in samples.texts:
            self.stdout.write(f"{sample['prompt']}|{sample['text']}\n")
