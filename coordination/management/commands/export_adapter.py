"""Write a snapshot as a folder that peft or, for a model from scratch, transformers loads."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from coordination.child import add_tokenizer, run_worker_client, tokenizer_option
from coordination.management.commands._run import RunCommand, find_run, snapshot_path


class Command(RunCommand):
    help = (
        "Export a run's snapshot as a folder that peft (adapters) or transformers (models from "
        "scratch) loads. Example: export_adapter tr-wiki --out adapter"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--out", type=Path, required=True, help="folder to write")
        add_tokenizer(parser)
        parser.add_argument("--tur", type=int, help="snapshot number (default: the newest)")

    def handle(self, *args: object, **options: Any) -> None:
        run = find_run(options["slug"])
        out = str(options["out"])
        run_worker_client(
            *("export", run.format, "--snapshot", snapshot_path(run, options["tur"])),
            *tokenizer_option(options["tokenizer"]),
            *("--out", out),
        )
        self.stdout.write(f"{run.slug}: exported to {out}")
