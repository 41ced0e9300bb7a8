"""Held-out loss and bits per byte of a run's snapshot."""

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from coordination.child import add_tokenizer, run_worker_client, tokenizer_option
from coordination.management.commands._run import RunCommand, find_run, snapshot_path
from coordination.models import Run


class Command(RunCommand):
    help = "Evaluate a run's snapshot on held-out text: loss (nats per token) and bits per byte."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        source = parser.add_mutually_exclusive_group(required=True)
        source.add_argument("--text", nargs="+", type=Path, help="held-out files")
        source.add_argument(
            "--shard", nargs="+", type=Path, help="shards of them, such as workers measure"
        )
        add_tokenizer(parser)
        parser.add_argument("--tur", type=int, help="snapshot number (default: the newest)")
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: object, **options: Any) -> None:
        run = find_run(options["slug"])
        found = run_worker_client(
            *("evaluate", run.format, "--snapshot", snapshot_path(run, options["tur"])),
            *tokenizer_option(options["tokenizer"]),
            *("--json", *_source(run, options)),
        )
        if options["json"]:
            self.stdout.write(json.dumps(found))
            return
        self.stdout.write(
            f"{run.slug}: {found['bits_per_byte']:.4f} bits per byte, "
            f"{found['loss']:.4f} nats per token over {found['bytes']} bytes"
        )


def _source(run: Run, options: dict) -> list[str]:
    if options["text"]:
        return ["--text", *map(str, options["text"])]
    rows = ["--seq", str(run.seq_len), "--mode", run.mode]
    return [*rows, "--shard", *map(str, options["shard"])]
