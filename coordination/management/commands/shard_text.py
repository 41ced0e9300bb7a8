"""Tokenise text into equal data shards that a run can serve."""

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from coordination.child import add_tokenizer, run_worker_client, tokenizer_option
from coordination.models import Run


class Command(BaseCommand):
    help = (
        "Tokenise .txt, .jsonl or a folder of them into N equal shards. Example: manage.py "
        "shard_text articles/ --format smollm2-135m-lora-r16 --shards 8 --seq 512 --out var/shards"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("input", nargs="+", type=Path, help="text files or folders")
        parser.add_argument(
            "--format", default="qwen3-0.6b-lora-r16", help="whose tokenizer to use"
        )
        parser.add_argument("--mod", dest="mode", choices=Run.Mode.values, default=Run.Mode.CPT)
        parser.add_argument("--shards", type=int, required=True, help="n_parca: how many")
        parser.add_argument("--seq", type=int, default=512, help="tokens per row")
        parser.add_argument("--out", type=Path, required=True, help="folder to write")
        add_tokenizer(parser)
        parser.add_argument("--source", default="", help="where the text is from")
        parser.add_argument("--licence", default="", help="the text's licence")

    def handle(self, *args: object, **options: Any) -> None:
        report = run_worker_client(
            "shard",
            options["format"],
            *("--mode", options["mode"], "--seq", str(options["seq"])),
            *(
                "--shards",
                str(options["shards"]),
                "--out",
                str(options["out"]),
                "--json",
            ),
            *tokenizer_option(options["tokenizer"]),
            *map(str, options["input"]),
        )
        described = {
            "shards": report["shards"],
            "source": options["source"],
            "licence": options["licence"],
        }
        path = options["out"] / "shards.json"
        path.write_text(json.dumps(described, indent=1) + "\n", "utf-8")
        rows = report["shards"][0]["rows"]
        self.stdout.write(f"{len(report['shards'])} shards of {rows} rows in {options['out']}")
