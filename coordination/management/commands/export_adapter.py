"""Write a snapshot as a folder that ``peft.PeftModel.from_pretrained`` loads."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from coordination.child import run_worker_client
from coordination.management.commands._run import RunCommand, find_run, snapshot_path


class Command(RunCommand):
    help = "Export a run's adapter as a PEFT folder. Example: export_adapter tr-wiki --out adapter"

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--out", type=Path, required=True, help="folder to write")
        parser.add_argument("--tur", type=int, help="snapshot number (default: the newest)")

    def handle(self, *args: object, **options: Any) -> None:
        run = find_run(options["slug"])
        adapter = snapshot_path(run, options["tur"])
        out = str(options["out"])
        run_worker_client("export", run.format, "--adapter", adapter, "--out", out)
        self.stdout.write(f"{run.slug}: exported to {out}")
