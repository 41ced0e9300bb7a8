"""From articles to the shards of a run, in four steps."""

import sys
from argparse import REMAINDER, ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from coordination.child import pass_to_worker_client


class Command(BaseCommand):
    help = (
        "From articles to the shards of a run. Each step goes on where it was when it is started "
        "again. Example: manage.py corpus ingest var/corpus articles.jsonl; then corpus tokenizer "
        "var/corpus; corpus pack var/corpus --seq 512; corpus shard var/corpus --shards 8 --out "
        "var/shards. Options of a step: manage.py corpus STEP --help"
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("step", choices=("ingest", "tokenizer", "pack", "shard"))
        parser.add_argument("arguments", nargs=REMAINDER, help="of the step")

    def handle(self, *args: object, **options: Any) -> None:
        status = pass_to_worker_client("corpus", options["step"], *options["arguments"])
        if status:
            sys.exit(status)
