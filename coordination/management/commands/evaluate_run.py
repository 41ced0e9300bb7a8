"""What a run's snapshot makes of held-out text: loss, bits per byte, summaries."""

import json
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from coordination.child import (
    add_tokenizer,
    pass_to_worker_client,
    run_worker_client,
    tokenizer_option,
)
from coordination.management.commands._run import RunCommand, find_run, snapshot_path
from coordination.models import Run


class Command(RunCommand):
    help = (
        "Evaluate a run's snapshot on held-out text: loss (nats per token), perplexity and bits "
        "per byte, or with --summaries ROUGE of the summaries that it writes."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        source = parser.add_mutually_exclusive_group(required=True)
        source.add_argument("--text", nargs="+", type=Path, help="held-out files")
        source.add_argument(
            "--shard", nargs="+", type=Path, help="shards of them, such as workers measure"
        )
        source.add_argument(
            "--summaries", type=Path, help=".jsonl of held-out articles with body and summary"
        )
        add_tokenizer(parser)
        parser.add_argument("--tur", type=int, help="snapshot number (default: the newest)")
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: object, **options: Any) -> None:
        run = find_run(options["slug"])
        arguments = [
            *("evaluate", run.format, "--snapshot", snapshot_path(run, options["tur"])),
            *tokenizer_option(options["tokenizer"]),
            *_source(run, options),
        ]
        if options["json"]:
            self.stdout.write(json.dumps(run_worker_client(*arguments, "--json")))
        elif status := pass_to_worker_client(*arguments):
            sys.exit(status)


def _source(run: Run, options: dict) -> list[str]:
    if options["text"]:
        return ["--text", *map(str, options["text"])]
    if options["summaries"]:
        return ["--seq", str(run.seq_len), "--summaries", str(options["summaries"])]
    rows = ["--seq", str(run.seq_len), "--mode", run.mode]
    return [*rows, "--shard", *map(str, options["shard"])]
