"""``evaluate``: held-out loss and bits per byte of a base model, with or without an adapter."""

import argparse
import dataclasses
import json
import sys
from pathlib import Path

from worker_client.cli.exits import Exit
from worker_client.cli.parsing import add_format, add_models_dir, new_parser, positive_int
from worker_client.cli.progress import bars


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = new_parser(
        commands,
        "evaluate",
        "measure loss and bits per byte on held-out text",
        "evaluate qwen3-0.6b-lora-r16 --adapter snapshot.safetensors --text held-out.txt",
    )
    add_format(parser)
    parser.add_argument("--adapter", type=Path, metavar="FILE", help="a snapshot (default: none)")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--text", type=Path, nargs="+", metavar="FILE", help="UTF-8 text files")
    source.add_argument("--shard", type=Path, nargs="+", metavar="FILE", help="shards")
    parser.add_argument("--device", default="auto", help="auto (default), cpu, cuda or cuda:N")
    parser.add_argument("--threads", type=positive_int, metavar="N", help="CPU threads")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    add_models_dir(parser)
    parser.set_defaults(execute=execute)


def execute(args: argparse.Namespace) -> Exit:
    raise SystemExit("PENDING")
